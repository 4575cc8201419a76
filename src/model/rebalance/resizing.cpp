#include "trireme/model/resizing.hpp"

#include <algorithm>

namespace trireme::model {
namespace {

void require_ascending(const std::vector<std::int32_t>& list, std::size_t channels) {
    const bool is_ascending = std::adjacent_find(list.begin(), list.end(), std::greater_equal{}) == list.end();
    const bool is_within =
        !list.empty() && list.front() >= 0 && static_cast<std::size_t>(list.back()) < channels;
    if (is_ascending && is_within) return;
    throw BugError(cat("a list of ", list.size(), " channels is not an ascending one of some of ", channels));
}

// Allocates the last gradients: those of each matrix of a projection, then that of its input. They form one
// vector if they have one type, as in existing checkpoints.
std::vector<device::Tensor> room_for_last(const ProjectionShape& projection, std::size_t most_rows,
                                          device::DType dtype, device::MemorySpace place,
                                          std::vector<ParameterTensors>& memory) {
    const ParameterSpec input{.name = "input", .rows = most_rows, .columns = projection.channels};
    std::vector<std::vector<ParameterSpec>> pieces{projection.weights};
    wide_of(dtype) == dtype ? pieces.front().push_back(input) : pieces.push_back({input});
    std::vector<device::Tensor> room;
    for (const std::vector<ParameterSpec>& piece : pieces) {
        const bool is_of_weights = &piece == &pieces.front();
        const ParameterTensors& last =
            memory.emplace_back(piece, is_of_weights ? wide_of(dtype) : dtype, place);
        for (std::size_t t = 0; t < piece.size(); ++t) room.push_back(last[t]);
    }
    return room;
}

}  // namespace

std::size_t ProjectionShape::outputs() const {
    std::size_t sum = 0;
    for (const ParameterSpec& weight : weights) sum += weight.size() / std::max<std::size_t>(channels, 1);
    return sum;
}

device::ConstTensor KeptChannels::indices() const {
    return {channels.data(), device::DType::i32, 1, channels.size(), channels.size()};
}

Resizing::Resizing(const std::vector<ProjectionShape>& projections, Filling filling, device::DType dtype,
                   std::size_t most_rows, device::MemorySpace place) {
    for (const ProjectionShape& projection : projections) {
        Entry& entry = entries_[projection.place];
        entry.channels = projection.channels;
        entry.kept.filling = filling;
        if (filling != Filling::same) continue;
        entry.kept.last_weights = room_for_last(projection, most_rows, dtype, place, memory_);
        entry.kept.last_input = entry.kept.last_weights.back();
        entry.kept.last_weights.pop_back();
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

std::vector<device::Tensor> Resizing::memory() const {
    std::vector<device::Tensor> all;
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

}  // namespace trireme::model
