// Decides which input channels of its matmuls a slow tensor-parallel rank skips: ZERO-resizing (FlexTP). A
// decision applies to a period, which is a number of consecutive steps. Every rank decides for its own slice of
// each weight; the other ranks need not know its decision. A channel that is not skipped is "kept".
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
    double max_skipped_fraction = 0.5;         // of a projection's channels, rounded down to whole tiles
    bool adapts_to_variation = false;          // projections whose weights change more skip fewer channels: see
                                               // plan_kept_channels()
    RandomKey key = {};                        // for ChannelPolicy::random; different on each rank
    device::DType dtype = device::DType::f32;  // type of the weights
    std::size_t max_rows = 0;  // maximum rows of a micro-batch, of all tensor-parallel ranks together
    device::MemorySpace memory_space = device::MemorySpace::host;
};

class Resizer {
public:
    // Begins period 0, in which all channels are kept. `projections` has the projections of all stages of this
    // rank. `parameters` must outlive this object.
    Resizer(device::Stream& stream, const ResizerConfig& config,
            std::vector<model::ProjectionShape> projections, const LocalParameters& parameters);

    const std::vector<model::ProjectionShape>& projections() const { return projections_; }
    // Returns the lists of kept channels that the passes of this rank read.
    model::Resizing& resizing() { return resizing_; }
    // Return the kept channels, ascending, of one projection (an index in projections()) or of all projections.
    const std::vector<std::int32_t>& kept_channels(std::size_t projection) const {
        return channels_[projection].kept_channels;
    }
    model::Resizing::ChannelLists kept_channels() const;

    // Ends a period and begins the next; called between two steps while no micro-batch is in flight. Records
    // the weight changes of the old period. In the new period, this rank omits about the fraction
    // `uncomputed_fraction` of the channels. Helper ranks compute some of the omitted channels, and the
    // remaining omitted channels are skipped. `offloaded` has one entry per projection: the number of channels
    // that helper ranks compute. `offloaded` is empty without helper ranks.
    void begin_period(device::Stream& stream, double uncomputed_fraction,
                      const std::vector<std::size_t>& offloaded = {});

    // Returns the channels that are skipped in this period, per weight, for Optimizer::update(). Weights of
    // which no channel is skipped are absent.
    optim::SkippedChannelMap list_skipped_channels() const;

    std::size_t bytes() const;  // bytes of the buffers of this object

    // Returns the state from which another Resizer of the same shapes can continue; called between two steps.
    // The tensors of the state are views of the memory of this object.
    model::ResizingState state() const;
    // Restores a saved state. The caller first calls state(), overwrites the result and its tensors with the
    // saved values, and then passes the result as `state`. Records no weight changes.
    void restore(const model::ResizingState& state);

private:
    struct ProjectionChannels {
        std::vector<double> variation;            // per channel: see model::choose_channels()
        std::vector<std::int32_t> kept_channels;  // ascending
    };

    template <class Use>
    void for_each_weight(std::size_t projection, Use&& use) const;
    void update_variation(device::Stream& stream);
    void copy_weights(device::Stream& stream);
    std::vector<std::size_t> plan_kept_counts(double uncomputed_fraction,
                                              const std::vector<std::size_t>& offloaded) const;
    bool uses_variation() const { return config_.policy != model::ChannelPolicy::first; }

    ResizerConfig config_;
    std::vector<model::ProjectionShape> projections_;
    const LocalParameters& parameters_;
    // Weights at the start of the period, ordered by projection; empty if the policy does not use variation.
    model::ParameterTensors period_start_weights_;
    device::Buffer channel_change_;  // f64, one value per channel of the widest projection
    model::Resizing resizing_;
    std::vector<ProjectionChannels> channels_;
    std::size_t period_ = 0;  // number of the current period
};

}  // namespace trireme::stage
