#include "trireme/model/resizing.hpp"

#include <algorithm>

namespace trireme {
namespace {

void require_ascending(const std::vector<std::int32_t>& list, std::size_t channels) {
    const bool is_ascending = std::adjacent_find(list.begin(), list.end(), std::greater_equal{}) == list.end();
    const bool is_within =
        !list.empty() && list.front() >= 0 && static_cast<std::size_t>(list.back()) < channels;
    if (is_ascending && is_within) return;
    throw BugError(cat("a list of ", list.size(), " channels is not an ascending one of some of ", channels));
}

// Room for the last gradients: each matrix of a projection, then its input.
std::vector<ParameterSpec> specs_of_last(const ProjectionShape& projection, std::size_t most_rows) {
    std::vector<ParameterSpec> specs = projection.weights;
    specs.push_back({.name = "input", .rows = most_rows, .columns = projection.channels});
    return specs;
}

}  // namespace

std::size_t ProjectionShape::outputs() const {
    std::size_t sum = 0;
    for (const ParameterSpec& weight : weights) sum += weight.size() / std::max<std::size_t>(channels, 1);
    return sum;
}

ConstTensor KeptChannels::indices() const {
    return {channels.data(), DType::i32, 1, channels.size(), channels.size()};
}

Resizing::Resizing(const std::vector<ProjectionShape>& projections, Filling filling, DType dtype,
                   std::size_t most_rows, Place place) {
    for (const ProjectionShape& projection : projections) {
        Entry& entry = entries_[projection.place];
        entry.channels = projection.channels;
        entry.kept.filling = filling;
        if (filling != Filling::same) continue;
        const std::size_t weights = projection.weights.size();
        const ParameterTensors& last = memory_.emplace_back(specs_of_last(projection, most_rows), dtype, place);
        for (std::size_t w = 0; w < weights; ++w) entry.kept.last_weights.push_back(last[w]);
        entry.kept.last_input = last[weights];
    }
}

void Resizing::keep(const Lists& lists) {
    for (auto& [place, entry] : entries_) entry.kept.channels.clear();
    for (const auto& [place, list] : lists) {
        Entry& entry = entries_.at(place);
        require_ascending(list, entry.channels);
        if (list.size() < entry.channels) entry.kept.channels = list;
    }
    ++period_;
}

KeptChannels* Resizing::at(const ProjectionPlace& place) {
    const auto entry = entries_.find(place);
    if (entry == entries_.end() || entry->second.kept.channels.empty()) return nullptr;
    return &entry->second.kept;
}

std::size_t Resizing::bytes() const {
    std::size_t sum = 0;
    for (const ParameterTensors& last : memory_) sum += last.bytes();
    return sum;
}

std::vector<Tensor> Resizing::memory() const {
    std::vector<Tensor> all;
    for (const ParameterTensors& last : memory_) all.push_back(last.all());
    return all;
}

std::vector<std::uint64_t> Resizing::last_rows() const {
    std::vector<std::uint64_t> rows;
    for (const auto& [place, entry] : entries_) {
        if (entry.kept.filling == Filling::same) rows.push_back(entry.kept.last_rows);
    }
    return rows;
}

void Resizing::set_last_rows(const std::vector<std::uint64_t>& rows) {
    std::size_t next = 0;
    for (auto& [place, entry] : entries_) {
        if (entry.kept.filling == Filling::same) entry.kept.last_rows = rows.at(next++);
    }
}

}  // namespace trireme
