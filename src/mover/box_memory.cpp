#include "mover/box_memory.hpp"

#include <cstring>

namespace trireme {
namespace {

// Where `part` is in a matrix whose first element is that of `whole`.
template <class View>
View part_of(const View& matrix, const Box& whole, const Box& part) {
    return matrix.row_range(part.rows.begin - whole.rows.begin, part.rows.count)
        .column_range(part.columns.begin - whole.columns.begin, part.columns.count);
}

Tensor part_of(const BoxInMemory& place, const Box& part) {
    const auto& [box, row, column] = place.placement;
    const Tensor own = place.memory.row_range(row, box.rows.count).column_range(column, box.columns.count);
    return part_of(own, box, part);
}

void copy(const ConstTensor& from, const Tensor& to) {
    if (from.is_contiguous() && to.is_contiguous()) {
        std::memcpy(to.data, from.data, from.bytes());
        return;
    }
    for (std::size_t r = 0; r < from.rows; ++r) {
        std::memcpy(to.row_range(r, 1).data, from.row_range(r, 1).data, from.row_range(r, 1).bytes());
    }
}

}  // namespace

BoxMemory::BoxMemory(const std::vector<BoxInMemory>& boxes) {
    for (const BoxInMemory& box : boxes) boxes_[box.tensor].push_back(&box);
}

template <class Use>
void BoxMemory::for_each_part(const std::string& tensor, const Box& box, Use&& use) const {
    std::size_t covered = 0;
    const auto places = boxes_.find(tensor);
    if (places != boxes_.end()) {
        for (const BoxInMemory* const place : places->second) {
            const Box part = intersection(place->placement.box, box);
            if (part.is_empty()) continue;
            covered += part.size();
            use(part, part_of(*place, part));
        }
    }
    if (covered == box.size()) return;
    throw BugError(
        cat("a move needs ", box.size(), " elements of ", tensor, " on a rank that has ", covered, " of them"));
}

void BoxMemory::read(const std::string& tensor, const Box& box, Tensor into) const {
    for_each_part(tensor, box,
                  [&](const Box& part, const Tensor& own) { copy(own, part_of(into, box, part)); });
}

void BoxMemory::write(const std::string& tensor, const Box& box, ConstTensor from) const {
    for_each_part(tensor, box,
                  [&](const Box& part, const Tensor& own) { copy(part_of(from, box, part), own); });
}

void BoxMemory::copy_from(const BoxMemory& other, const std::string& tensor, const Box& box) const {
    for_each_part(tensor, box, [&](const Box& part, const Tensor& own) { other.read(tensor, part, own); });
}

}  // namespace trireme
