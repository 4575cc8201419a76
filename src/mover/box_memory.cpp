#include "mover/box_memory.hpp"

#include "trireme/device/buffer.hpp"

namespace trireme::mover {
namespace {

// Returns a view of the box `part` in `matrix`, which has exactly the elements of the box `whole`. `part` must
// lie within `whole`.
template <class View>
View view_part(const View& matrix, const layout::Box& whole, const layout::Box& part) {
    return matrix.row_range(part.rows.begin - whole.rows.begin, part.rows.count)
        .column_range(part.columns.begin - whole.columns.begin, part.columns.count);
}

}  // namespace

device::Tensor BoxMemory::HeldBox::view_box(const layout::Box& box) const {
    const auto& [held_box, row, column] = placement;
    return view_part(memory.row_range(row, held_box.rows.count).column_range(column, held_box.columns.count),
                     held_box, box);
}

BoxMemory::BoxMemory(const std::vector<BoxInMemory>& boxes) {
    for (const BoxInMemory& box : boxes) boxes_[box.tensor].push_back({box.placement, box.memory});
}

template <class Use>
void BoxMemory::for_each_held_part(const std::string& tensor, const layout::Box& box, Use&& use) const {
    std::size_t held_elements = 0;
    const auto held_boxes = boxes_.find(tensor);
    if (held_boxes != boxes_.end()) {
        for (const HeldBox& held : held_boxes->second) {
            const layout::Box part = intersect(held.placement.box, box);
            if (part.is_empty()) continue;
            held_elements += part.size();
            use(part, held.view_box(part));
        }
    }
    if (held_elements == box.size()) return;
    throw BugError(cat("a move needs ", box.size(), " elements of ", tensor, ", but this rank holds only ",
                       held_elements));
}

void BoxMemory::read(const std::string& tensor, const layout::Box& box, device::Tensor destination) const {
    for_each_held_part(tensor, box, [&](const layout::Box& part, const device::Tensor& held_part) {
        copy_rows(held_part, view_part(destination, box, part));
    });
}

void BoxMemory::write(const std::string& tensor, const layout::Box& box, device::ConstTensor source) const {
    for_each_held_part(tensor, box, [&](const layout::Box& part, const device::Tensor& held_part) {
        copy_rows(view_part(source, box, part), held_part);
    });
}

void BoxMemory::copy_from(const BoxMemory& other, const std::string& tensor, const layout::Box& box) const {
    for_each_held_part(tensor, box, [&](const layout::Box& part, const device::Tensor& held_part) {
        other.read(tensor, part, held_part);
    });
}

}  // namespace trireme::mover
