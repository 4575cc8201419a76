#include "trireme/model/resizing.hpp"

#include <algorithm>

namespace trireme::model {
namespace {

// Throws BugError unless `list` is a non-empty, strictly ascending list of numbers below `channels`.
void require_valid_channels(const std::vector<std::int32_t>& list, std::size_t channels) {
    const bool is_ascending = std::adjacent_find(list.begin(), list.end(), std::greater_equal{}) == list.end();
    const bool is_within =
        !list.empty() && list.front() >= 0 && static_cast<std::size_t>(list.back()) < channels;
    if (is_ascending && is_within) return;
    throw BugError(
        cat("a channel list of length ", list.size(), " must be ascending, not empty, and below ", channels));
}

// Allocates in `memory` the gradients that Filling::same stores. Returns views of these gradients: the weight
// gradient of each matrix of the projection, then the input gradient. If all gradients have the same type, they
// share one buffer, as existing checkpoints expect. Otherwise the input gradient has a buffer of its own.
std::vector<device::Tensor> allocate_last_gradients(const ProjectionShape& projection, std::size_t max_rows,
                                                    device::DType dtype, device::MemorySpace memory_space,
                                                    std::vector<ParameterTensors>& memory) {
    const ParameterSpec input{.name = "input", .rows = max_rows, .columns = projection.channels};
    std::vector<std::vector<ParameterSpec>> specs_per_buffer{projection.weights};
    accumulator_type(dtype) == dtype ? specs_per_buffer.front().push_back(input)
                                     : specs_per_buffer.push_back({input});
    std::vector<device::Tensor> gradients;
    for (const std::vector<ParameterSpec>& specs : specs_per_buffer) {
        const bool has_weights = &specs == &specs_per_buffer.front();
        const ParameterTensors& last_gradients =
            memory.emplace_back(specs, has_weights ? accumulator_type(dtype) : dtype, memory_space);
        for (std::size_t t = 0; t < specs.size(); ++t) gradients.push_back(last_gradients[t]);
    }
    return gradients;
}

}  // namespace

std::size_t ProjectionShape::outputs() const {
    std::size_t sum = 0;
    for (const ParameterSpec& weight : weights) sum += weight.size() / std::max<std::size_t>(channels, 1);
    return sum;
}

device::ConstTensor SelectedChannels::indices() const {
    return {channels.data(), device::DType::i32, 1, channels.size(), channels.size()};
}

Resizing::Resizing(const std::vector<ProjectionShape>& projections, Filling filling, device::DType dtype,
                   std::size_t max_rows, device::MemorySpace memory_space) {
    for (const ProjectionShape& projection : projections) {
        Entry& entry = entries_[projection.id];
        entry.channels = projection.channels;
        entry.kept.filling = filling;
        if (filling != Filling::same) continue;
        entry.kept.last_weight_gradients =
            allocate_last_gradients(projection, max_rows, dtype, memory_space, stored_gradients_);
        entry.kept.last_input_gradient = entry.kept.last_weight_gradients.back();
        entry.kept.last_weight_gradients.pop_back();
    }
}

void Resizing::begin_period(const ChannelLists& lists) {
    for (auto& [id, entry] : entries_) entry.kept.channels.clear();
    for (const auto& [id, list] : lists) {
        Entry& entry = entries_.at(id);
        require_valid_channels(list, entry.channels);
        if (list.size() < entry.channels) entry.kept.channels = list;
    }
    ++period_;
}

SelectedChannels* Resizing::at(const ProjectionId& id) {
    const auto entry = entries_.find(id);
    if (entry == entries_.end() || entry->second.kept.channels.empty()) return nullptr;
    return &entry->second.kept;
}

std::size_t Resizing::bytes() const {
    std::size_t sum = 0;
    for (const ParameterTensors& last_gradients : stored_gradients_) sum += last_gradients.bytes();
    return sum;
}

std::vector<device::Tensor> Resizing::list_stored_gradients() const {
    std::vector<device::Tensor> all;
    for (const ParameterTensors& last_gradients : stored_gradients_) all.push_back(last_gradients.all());
    return all;
}

std::vector<std::uint64_t> Resizing::last_rows() const {
    std::vector<std::uint64_t> rows;
    for (const auto& [id, entry] : entries_) {
        if (entry.kept.filling == Filling::same) rows.push_back(entry.kept.last_rows);
    }
    return rows;
}

void Resizing::set_last_rows(const std::vector<std::uint64_t>& rows) {
    std::size_t next = 0;
    for (auto& [id, entry] : entries_) {
        if (entry.kept.filling == Filling::same) entry.kept.last_rows = rows.at(next++);
    }
}

}  // namespace trireme::model
