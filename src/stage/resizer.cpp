#include "trireme/stage/resizer.hpp"

#include <algorithm>
#include <numeric>

#include "trireme/kernels/fill.hpp"
#include "trireme/kernels/linear.hpp"
#include "trireme/kernels/read.hpp"
#include "trireme/kernels/rows.hpp"

namespace trireme::stage {
namespace {

std::vector<model::ParameterSpec> weights_of(const std::vector<model::ProjectionShape>& projections) {
    std::vector<model::ParameterSpec> all;
    for (const model::ProjectionShape& projection : projections)
        all.insert(all.end(), projection.weights.begin(), projection.weights.end());
    return all;
}

std::size_t most_channels(const std::vector<model::ProjectionShape>& projections) {
    std::size_t most = 0;
    for (const model::ProjectionShape& projection : projections) most = std::max(most, projection.channels);
    return most;
}

double mean(const std::vector<double>& numbers) {
    return std::accumulate(numbers.begin(), numbers.end(), 0.0) / static_cast<double>(numbers.size());
}

// Returns the number of channels that remain if the largest number of whole tiles within the limit is skipped.
std::size_t least_kept(std::size_t channels, double limit) {
    const auto tiles = static_cast<std::size_t>(limit * static_cast<double>(channels) / model::channel_tile);
    return channels - tiles * model::channel_tile;
}

}  // namespace

Resizer::Resizer(device::Stream& stream, const ResizerConfig& config,
                 std::vector<model::ProjectionShape> projections, const LocalParameters& parameters)
    : config_(config),
      projections_(std::move(projections)),
      parameters_(parameters),
      last_weights_(goes_by_variation() ? weights_of(projections_) : std::vector<model::ParameterSpec>{},
                    config.dtype, config.place),
      change_(most_channels(projections_) * sizeof(double), config.place),
      products_(projections_, config.filling, config.dtype, config.most_rows, config.place) {
    for (const model::ProjectionShape& projection : projections_) {
        Channels& channels = channels_.emplace_back();
        channels.variation.assign(projection.channels, 1.0);
        channels.kept.resize(projection.channels);
        std::iota(channels.kept.begin(), channels.kept.end(), 0);
    }
    copy_weights(stream);
}

// Calls use(weight, last) per matrix: its current value, and its value at the start of the period.
template <class Use>
void Resizer::for_each_weight(std::size_t projection, Use&& use) const {
    std::size_t next = 0;
    for (std::size_t p = 0; p < projection; ++p) next += projections_[p].weights.size();
    for (const model::ParameterSpec& weight : projections_[projection].weights)
        use(parameters_.values()[parameters_.number_of(weight.name)], last_weights_[next++]);
}

void Resizer::copy_weights(device::Stream& stream) {
    if (!goes_by_variation()) return;
    for (std::size_t p = 0; p < projections_.size(); ++p) {
        for_each_weight(p, [&](const device::Tensor& weight, const device::Tensor& last) {
            launch(stream, kernels::Copy{.input = weight, .output = last});
        });
    }
}

void Resizer::note_changes(device::Stream& stream) {
    if (!goes_by_variation()) return;
    for (std::size_t p = 0; p < projections_.size(); ++p) {
        const std::size_t width = projections_[p].channels;
        const device::Tensor change{change_.data(), device::DType::f64, 1, width, width, change_.place()};
        launch(stream, kernels::Fill{.output = change, .value = 0});
        for_each_weight(p, [&](const device::Tensor& weight, const device::Tensor& last) {
            launch(stream,
                   kernels::ChannelChange{
                       .weight = weight, .before = last, .change = change, .axes = projections_[p].axes});
        });
        const std::vector<double> numbers = kernels::read_values(stream, change);
        if (!numbers.empty()) model::note_change(channels_[p].kept, numbers, channels_[p].variation);
    }
}

std::vector<std::size_t> Resizer::counts(double ratio, const std::vector<std::size_t>& lent) const {
    std::vector<std::size_t> same_ratio;
    std::vector<model::ResizableWork> all;
    for (std::size_t p = 0; p < projections_.size(); ++p) {
        const std::size_t channels = projections_[p].channels;
        const std::size_t kept = model::kept_count(channels, ratio) + (lent.empty() ? 0 : lent[p]);
        same_ratio.push_back(std::min(channels, std::max(kept, least_kept(channels, config_.limit))));
        all.push_back({.channels = channels,
                       .work = static_cast<double>(channels * projections_[p].outputs()),
                       .variation = mean(channels_[p].variation)});
    }
    return config_.by_variation ? kept_counts(all, std::min(ratio, config_.limit), config_.limit) : same_ratio;
}

void Resizer::begin_period(device::Stream& stream, double ratio, const std::vector<std::size_t>& lent) {
    note_changes(stream);
    copy_weights(stream);
    ++period_;
    const std::vector<std::size_t> counts = this->counts(ratio, lent);
    for (std::size_t p = 0; p < projections_.size(); ++p) {
        channels_[p].kept =
            choose_channels(config_.policy, channels_[p].variation, counts[p],
                            config_.key.then(projections_[p].weights.front().name).then(period_));
    }
    products_.keep(kept());
}

model::Resizing::Lists Resizer::kept() const {
    model::Resizing::Lists lists;
    for (std::size_t p = 0; p < projections_.size(); ++p) lists[projections_[p].place] = channels_[p].kept;
    return lists;
}

optim::LeftOuts Resizer::left_out() const {
    optim::LeftOuts all;
    for (std::size_t p = 0; p < projections_.size(); ++p) {
        optim::LeftOut left_out{.axes = projections_[p].axes};
        for (std::size_t c = 0; c < projections_[p].channels; ++c) {
            const auto channel = static_cast<std::int32_t>(c);
            if (!std::ranges::binary_search(channels_[p].kept, channel)) left_out.channels.push_back(channel);
        }
        if (left_out.channels.empty()) continue;
        for (const model::ParameterSpec& weight : projections_[p].weights)
            all[parameters_.number_of(weight.name)] = left_out;
    }
    return all;
}

model::ResizingState Resizer::state() const {
    model::ResizingState state{
        .period = period_, .last_rows = products_.last_rows(), .memory = products_.memory()};
    if (goes_by_variation()) state.memory.push_back(last_weights_.all());
    for (const Channels& channels : channels_) {
        state.variation.insert(state.variation.end(), channels.variation.begin(), channels.variation.end());
        const std::size_t first = state.kept.size();
        state.kept.resize(first + channels.variation.size(), 0);
        for (const std::int32_t channel : channels.kept)
            state.kept[first + static_cast<std::size_t>(channel)] = 1;
    }
    return state;
}

void Resizer::restore(const model::ResizingState& state) {
    period_ = state.period;
    products_.set_last_rows(state.last_rows);
    std::size_t first = 0;  // index of the projection's first channel
    for (Channels& channels : channels_) {
        const std::size_t count = channels.variation.size();
        channels.kept.clear();
        for (std::size_t c = 0; c < count; ++c) {
            channels.variation[c] = state.variation.at(first + c);
            if (state.kept.at(first + c) != 0) channels.kept.push_back(static_cast<std::int32_t>(c));
        }
        first += count;
    }
    products_.keep(kept());
}

std::size_t Resizer::bytes() const { return last_weights_.bytes() + change_.bytes() + products_.bytes(); }

}  // namespace trireme::stage
