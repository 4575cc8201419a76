// Boxes of tensors in a rank's memory, found by their position in the tensor.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "trireme/mover/carry_out.hpp"

namespace trireme::mover {

class BoxMemory {
public:
    explicit BoxMemory(const std::vector<BoxInMemory>& boxes);

    // Copies between this memory and a dense matrix of the size of `box`. Throws BugError if a part of the box
    // is missing.
    void read(const std::string& tensor, const layout::Box& box, device::Tensor into) const;
    void write(const std::string& tensor, const layout::Box& box, device::ConstTensor from) const;

    // Copies `box` from another memory without a buffer in between.
    void copy_from(const BoxMemory& other, const std::string& tensor, const layout::Box& box) const;

private:
    struct HeldBox {
        layout::Placement placement;
        device::Tensor memory;

        device::Tensor part(const layout::Box& box) const;
    };

    template <class Use>
    void for_each_part(const std::string& tensor, const layout::Box& box, Use&& use) const;

    std::unordered_map<std::string, std::vector<HeldBox>> places_;
};

}  // namespace trireme::mover
