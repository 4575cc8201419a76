#include "trireme/stage/resizer.hpp"

#include <algorithm>
#include <numeric>

#include "trireme/kernels/fill.hpp"
#include "trireme/kernels/linear.hpp"
#include "trireme/kernels/read.hpp"
#include "trireme/kernels/rows.hpp"

namespace trireme::stage {
namespace {

std::vector<model::ParameterSpec> list_weights(const std::vector<model::ProjectionShape>& projections) {
    std::vector<model::ParameterSpec> all;
    for (const model::ProjectionShape& projection : projections)
        all.insert(all.end(), projection.weights.begin(), projection.weights.end());
    return all;
}

std::size_t find_max_channels(const std::vector<model::ProjectionShape>& projections) {
    std::size_t max_channels = 0;
    for (const model::ProjectionShape& projection : projections)
        max_channels = std::max(max_channels, projection.channels);
    return max_channels;
}

double compute_mean(const std::vector<double>& numbers) {
    return std::accumulate(numbers.begin(), numbers.end(), 0.0) / static_cast<double>(numbers.size());
}

// Returns the number of kept channels if the maximum number of whole tiles is skipped. `limit` is the maximum
// fraction of skipped channels.
std::size_t count_min_kept_channels(std::size_t channels, double limit) {
    const auto skipped_tiles =
        static_cast<std::size_t>(limit * static_cast<double>(channels) / model::channel_tile);
    return channels - skipped_tiles * model::channel_tile;
}

}  // namespace

Resizer::Resizer(device::Stream& stream, const ResizerConfig& config,
                 std::vector<model::ProjectionShape> projections, const LocalParameters& parameters)
    : config_(config),
      projections_(std::move(projections)),
      parameters_(parameters),
      period_start_weights_(uses_variation() ? list_weights(projections_) : std::vector<model::ParameterSpec>{},
                            config.dtype, config.memory_space),
      channel_change_(find_max_channels(projections_) * sizeof(double), config.memory_space),
      resizing_(projections_, config.filling, config.dtype, config.max_rows, config.memory_space) {
    for (const model::ProjectionShape& projection : projections_) {
        ProjectionChannels& channels = channels_.emplace_back();
        channels.variation.assign(projection.channels, 1.0);
        channels.kept_channels.resize(projection.channels);
        std::iota(channels.kept_channels.begin(), channels.kept_channels.end(), 0);
    }
    copy_weights(stream);
}

// Calls use(weight, old_weight) for each weight matrix of a projection, with the matrix's current values and
// its values at the start of the period.
template <class Use>
void Resizer::for_each_weight(std::size_t projection, Use&& use) const {
    std::size_t weight_index = 0;  // in period_start_weights_
    for (std::size_t p = 0; p < projection; ++p) weight_index += projections_[p].weights.size();
    for (const model::ParameterSpec& weight : projections_[projection].weights)
        use(parameters_.values()[parameters_.find_index(weight.name)], period_start_weights_[weight_index++]);
}

void Resizer::copy_weights(device::Stream& stream) {
    if (!uses_variation()) return;
    for (std::size_t p = 0; p < projections_.size(); ++p) {
        for_each_weight(p, [&](const device::Tensor& weight, const device::Tensor& old_weight) {
            launch(stream, kernels::Copy{.input = weight, .output = old_weight});
        });
    }
}

void Resizer::update_variation(device::Stream& stream) {
    if (!uses_variation()) return;
    for (std::size_t p = 0; p < projections_.size(); ++p) {
        const std::size_t channels = projections_[p].channels;
        const device::Tensor change{channel_change_.data(),        device::DType::f64, 1, channels, channels,
                                    channel_change_.memory_space()};
        launch(stream, kernels::Fill{.output = change, .value = 0});
        for_each_weight(p, [&](const device::Tensor& weight, const device::Tensor& old_weight) {
            launch(stream, kernels::ChannelChange{.weight = weight,
                                                  .old_weight = old_weight,
                                                  .change = change,
                                                  .axes = projections_[p].axes});
        });
        const std::vector<double> changes = kernels::read_values(stream, change);
        if (!changes.empty())  // otherwise the stream is a ghost
            model::update_variation(channels_[p].kept_channels, changes, channels_[p].variation);
    }
}

// Returns the number of kept channels per projection. Offloaded channels are kept channels, too. No
// channel is offloaded if the counts adapt to variation: the checks of the options reject this combination.
std::vector<std::size_t> Resizer::plan_kept_counts(double uncomputed_fraction,
                                                   const std::vector<std::size_t>& offloaded) const {
    std::vector<std::size_t> uniform_counts;
    std::vector<model::ResizableWork> work;
    for (std::size_t p = 0; p < projections_.size(); ++p) {
        const std::size_t channels = projections_[p].channels;
        const std::size_t kept_count =
            model::count_kept_channels(channels, uncomputed_fraction) + (offloaded.empty() ? 0 : offloaded[p]);
        uniform_counts.push_back(std::min(
            channels, std::max(kept_count, count_min_kept_channels(channels, config_.max_skipped_fraction))));
        work.push_back({.channels = channels,
                        .work = static_cast<double>(channels * projections_[p].outputs()),
                        .variation = compute_mean(channels_[p].variation)});
    }
    if (!config_.adapts_to_variation) return uniform_counts;
    return plan_kept_channels(work, std::min(uncomputed_fraction, config_.max_skipped_fraction),
                              config_.max_skipped_fraction);
}

void Resizer::begin_period(device::Stream& stream, double uncomputed_fraction,
                           const std::vector<std::size_t>& offloaded) {
    update_variation(stream);
    copy_weights(stream);
    ++period_;
    const std::vector<std::size_t> kept_counts = plan_kept_counts(uncomputed_fraction, offloaded);
    for (std::size_t p = 0; p < projections_.size(); ++p) {
        channels_[p].kept_channels =
            choose_channels(config_.policy, channels_[p].variation, kept_counts[p],
                            config_.key.then(projections_[p].weights.front().name).then(period_));
    }
    resizing_.begin_period(kept_channels());
}

model::Resizing::ChannelLists Resizer::kept_channels() const {
    model::Resizing::ChannelLists lists;
    for (std::size_t p = 0; p < projections_.size(); ++p)
        lists[projections_[p].id] = channels_[p].kept_channels;
    return lists;
}

optim::SkippedChannelMap Resizer::list_skipped_channels() const {
    optim::SkippedChannelMap all;
    for (std::size_t p = 0; p < projections_.size(); ++p) {
        optim::SkippedInputChannels skipped{.axes = projections_[p].axes};
        for (std::size_t c = 0; c < projections_[p].channels; ++c) {
            const auto channel = static_cast<std::int32_t>(c);
            if (!std::ranges::binary_search(channels_[p].kept_channels, channel))
                skipped.channels.push_back(channel);
        }
        if (skipped.channels.empty()) continue;
        for (const model::ParameterSpec& weight : projections_[p].weights)
            all[parameters_.find_index(weight.name)] = skipped;
    }
    return all;
}

model::ResizingState Resizer::state() const {
    model::ResizingState state{
        .period = period_, .last_rows = resizing_.last_rows(), .memory = resizing_.list_stored_gradients()};
    if (uses_variation()) state.memory.push_back(period_start_weights_.all());
    for (const ProjectionChannels& channels : channels_) {
        state.variation.insert(state.variation.end(), channels.variation.begin(), channels.variation.end());
        const std::size_t first = state.kept.size();
        state.kept.resize(first + channels.variation.size(), 0);
        for (const std::int32_t channel : channels.kept_channels)
            state.kept[first + static_cast<std::size_t>(channel)] = 1;
    }
    return state;
}

void Resizer::restore(const model::ResizingState& state) {
    period_ = state.period;
    resizing_.set_last_rows(state.last_rows);
    std::size_t first = 0;  // index of the projection's first channel in `state.variation` and `state.kept`
    for (ProjectionChannels& channels : channels_) {
        const std::size_t count = channels.variation.size();
        channels.kept_channels.clear();
        for (std::size_t c = 0; c < count; ++c) {
            channels.variation[c] = state.variation.at(first + c);
            if (state.kept.at(first + c) != 0) channels.kept_channels.push_back(static_cast<std::int32_t>(c));
        }
        first += count;
    }
    resizing_.begin_period(kept_channels());
}

std::size_t Resizer::bytes() const {
    return period_start_weights_.bytes() + channel_change_.bytes() + resizing_.bytes();
}

}  // namespace trireme::stage
