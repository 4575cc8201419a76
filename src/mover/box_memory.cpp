#include "mover/box_memory.hpp"

#include "trireme/device/buffer.hpp"

namespace trireme::mover {
namespace {

// Returns the view of `part` in `matrix`, which holds the box `whole`.
template <class View>
View part_of(const View& matrix, const layout::Box& whole, const layout::Box& part) {
    return matrix.row_range(part.rows.begin - whole.rows.begin, part.rows.count)
        .column_range(part.columns.begin - whole.columns.begin, part.columns.count);
}

}  // namespace

device::Tensor BoxMemory::HeldBox::part(const layout::Box& box) const {
    const auto& [own, row, column] = placement;
    return part_of(memory.row_range(row, own.rows.count).column_range(column, own.columns.count), own, box);
}

BoxMemory::BoxMemory(const std::vector<BoxInMemory>& boxes) {
    for (const BoxInMemory& box : boxes) places_[box.tensor].push_back({box.placement, box.memory});
}

template <class Use>
void BoxMemory::for_each_part(const std::string& tensor, const layout::Box& box, Use&& use) const {
    std::size_t covered = 0;
    const auto places = places_.find(tensor);
    if (places != places_.end()) {
        for (const HeldBox& place : places->second) {
            const layout::Box part = intersection(place.placement.box, box);
            if (part.is_empty()) continue;
            covered += part.size();
            use(part, place.part(part));
        }
    }
    if (covered == box.size()) return;
    throw BugError(
        cat("a move needs ", box.size(), " elements of ", tensor, " on a rank that has ", covered, " of them"));
}

void BoxMemory::read(const std::string& tensor, const layout::Box& box, device::Tensor into) const {
    for_each_part(tensor, box, [&](const layout::Box& part, const device::Tensor& own) {
        copy_rows(own, part_of(into, box, part));
    });
}

void BoxMemory::write(const std::string& tensor, const layout::Box& box, device::ConstTensor from) const {
    for_each_part(tensor, box, [&](const layout::Box& part, const device::Tensor& own) {
        copy_rows(part_of(from, box, part), own);
    });
}

void BoxMemory::copy_from(const BoxMemory& other, const std::string& tensor, const layout::Box& box) const {
    for_each_part(tensor, box,
                  [&](const layout::Box& part, const device::Tensor& own) { other.read(tensor, part, own); });
}

}  // namespace trireme::mover
