// Boxes of tensors in a rank's memory, found by their position in the tensor.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "trireme/mover/move_execution.hpp"

namespace trireme::mover {

class BoxMemory {
public:
    explicit BoxMemory(const std::vector<BoxInMemory>& boxes);

    // Copy a box to or from a contiguous matrix with the shape of `box`. Throw BugError if this memory lacks an
    // element of the box.
    void read(const std::string& tensor, const layout::Box& box, device::Tensor destination) const;
    void write(const std::string& tensor, const layout::Box& box, device::ConstTensor source) const;

    // Copies `box` from another memory into this one, without an intermediate buffer.
    void copy_from(const BoxMemory& other, const std::string& tensor, const layout::Box& box) const;

private:
    struct HeldBox {
        layout::Placement placement;
        device::Tensor memory;

        device::Tensor view_box(const layout::Box& box) const;
    };

    // Calls use(part, memory of the part) for each part of `box` that one of the boxes in this memory holds.
    template <class Use>
    void for_each_held_part(const std::string& tensor, const layout::Box& box, Use&& use) const;

    std::unordered_map<std::string, std::vector<HeldBox>> boxes_;
};

}  // namespace trireme::mover
