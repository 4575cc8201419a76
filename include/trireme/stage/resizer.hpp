// Decides, period by period, which channels a slow tensor rank leaves out of its products: ZERO-resizing
// (FlexTP). Every rank decides for its own part of each weight, and what is left out nobody else has to know.
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
    double limit = 0.5;                        // of the ratio, before tiles are counted
    bool by_variation = false;                 // projections that vary more leave out less: see kept_counts()
    RandomKey key = {};                        // of ChannelPolicy::random: the run's seed, and the rank
    device::DType dtype = device::DType::f32;  // of the weights
    std::size_t most_rows = 0;                 // of a micro-batch, of all tensor ranks
    device::MemorySpace place = device::MemorySpace::host;
};

class Resizer {
public:
    // The first period, in which all is kept, begins with the weights as they are. `parameters` outlives it.
    Resizer(device::Stream& stream, const ResizerConfig& config,
            std::vector<model::ProjectionShape> projections, const LocalParameters& parameters);

    const std::vector<model::ProjectionShape>& projections() const { return projections_; }
    // For the passes of this rank.
    model::Resizing& products() { return products_; }
    const std::vector<std::int32_t>& kept(std::size_t projection) const { return channels_[projection].kept; }
    model::Resizing::Lists kept() const;

    // Ends a period and begins the next, between two steps, while nothing is in flight: notes how far weights
    // have moved in the one, and leaves out `ratio` of the multiplications in the other, but for those with the
    // channels of each projection that are `lent` to others.
    void begin_period(device::Stream& stream, double ratio, const std::vector<std::size_t>& lent = {});

    // Of this period, for an optimizer that is to let them alone.
    optim::LeftOuts left_out() const;

    std::size_t bytes() const;

    // Between two steps: what another one of the same shapes needs to go on as this one would. Its tensors are
    // this one's memory.
    model::ResizingState state() const;
    // What state() has given, and filled in the memory of; begins no period.
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
    model::ParameterTensors
        last_weights_;       // of all projections, one after the other; none: nobody asks how they change
    device::Buffer change_;  // f64, of the channels of the widest projection
    model::Resizing products_;
    std::vector<Channels> channels_;
    std::size_t period_ = 0;
};

}  // namespace trireme::stage
