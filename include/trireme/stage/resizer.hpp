// Decides, period by period, which channels a slow tensor rank skips: ZERO-resizing (FlexTP). Every rank
// decides for its own part of each weight; other ranks need not know its choice.
#pragma once

#include <vector>

#include "trireme/model/channel_choice.hpp"
#include "trireme/model/resizing.hpp"
#include "trireme/optim/optimizer.hpp"
#include "trireme/stage/local_parameters.hpp"

namespace trireme::stage {

struct ResizerConfig {
    model::ChannelPolicy policy = model::ChannelPolicy::priority;
    model::Filling filling = model::Filling::zero;
    double limit = 0.5;                        // maximum ratio, before rounding to tiles
    bool by_variation = false;                 // projections that vary more skip less: see kept_counts()
    RandomKey key = {};                        // for ChannelPolicy::random: from the run's seed and the rank
    device::DType dtype = device::DType::f32;  // type of the weights
    std::size_t most_rows = 0;                 // maximum rows of a micro-batch over all tensor ranks
    device::MemorySpace place = device::MemorySpace::host;
};

class Resizer {
public:
    // Begins the first period, in which all channels are kept. `parameters` outlives this.
    Resizer(device::Stream& stream, const ResizerConfig& config,
            std::vector<model::ProjectionShape> projections, const LocalParameters& parameters);

    const std::vector<model::ProjectionShape>& projections() const { return projections_; }
    // Returns the object that the passes of this rank read.
    model::Resizing& products() { return products_; }
    const std::vector<std::int32_t>& kept(std::size_t projection) const { return channels_[projection].kept; }
    model::Resizing::Lists kept() const;

    // Ends a period and begins the next; called between two steps while no micro-batch is in flight. Records
    // the weight changes of the old period. In the new one the fraction `ratio` of the flops is skipped, minus
    // the `lent` channels per projection, which helper ranks compute.
    void begin_period(device::Stream& stream, double ratio, const std::vector<std::size_t>& lent = {});

    // Returns the channels that are skipped in this period, for Optimizer::update().
    optim::LeftOuts left_out() const;

    std::size_t bytes() const;

    // Returns the state from which another Resizer of the same shapes resumes; called between two steps. Its
    // tensors are views of this object's memory.
    model::ResizingState state() const;
    // Restores what state() returned; the caller has filled the memory. Records no weight changes.
    void restore(const model::ResizingState& state);

private:
    struct Channels {
        std::vector<double> variation;
        std::vector<std::int32_t> kept;
    };

    template <class Use>
    void for_each_weight(std::size_t projection, Use&& use) const;
    void note_changes(device::Stream& stream);
    void copy_weights(device::Stream& stream);
    std::vector<std::size_t> counts(double ratio, const std::vector<std::size_t>& lent) const;
    bool goes_by_variation() const { return config_.policy != model::ChannelPolicy::first; }

    ResizerConfig config_;
    std::vector<model::ProjectionShape> projections_;
    const LocalParameters& parameters_;
    // Weights at the start of the period, projection after projection; empty if the policy ignores variation.
    model::ParameterTensors last_weights_;
    device::Buffer change_;  // f64, one value per channel of the widest projection
    model::Resizing products_;
    std::vector<Channels> channels_;
    std::size_t period_ = 0;
};

}  // namespace trireme::stage
