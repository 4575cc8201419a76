// Access to boxes of tensors in a rank's memory, by tensor name and by position in the global tensor.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "trireme/mover/move_execution.hpp"

namespace trireme::mover {

// A BoxMemory does not own the memory of its boxes. Boxes of one tensor must not overlap.
class BoxMemory {
public:
    explicit BoxMemory(const std::vector<BoxInMemory>& boxes);

    // read() copies `box` to `destination`, and write() copies `source` to `box`; both matrices have the shape
    // of `box`. Both throw BugError if this memory lacks an element of the box.
    void read(const std::string& tensor, const layout::Box& box, device::Tensor destination) const;
    void write(const std::string& tensor, const layout::Box& box, device::ConstTensor source) const;

    // Copies `box` from `other` to this memory, without an intermediate buffer. Throws BugError if either
    // memory lacks an element of the box.
    void copy_from(const BoxMemory& other, const std::string& tensor, const layout::Box& box) const;

private:
    struct HeldBox {
        layout::Placement placement;
        device::Tensor memory;  // the matrix in which placement.box lies

        // Returns a view of `box`, which must lie within placement.box.
        device::Tensor view_box(const layout::Box& box) const;
    };

    // Calls use(part, view of the part in memory) for each box of this memory that overlaps `box`; `part` is
    // the intersection of the two. Throws BugError if this memory lacks an element of `box`.
    template <class Use>
    void for_each_held_part(const std::string& tensor, const layout::Box& box, Use&& use) const;

    std::unordered_map<std::string, std::vector<HeldBox>> boxes_;  // by name of the tensor
};

}  // namespace trireme::mover
