// Boxes of tensors in a rank's memory, found by where they are in the tensor.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "trireme/mover/carry_out.hpp"

namespace trireme::mover {

class BoxMemory {
public:
    explicit BoxMemory(const std::vector<BoxInMemory>& boxes);

    // Between memory and a dense matrix as large as `box`. Throws BugError where not all of the box is here.
    void read(const std::string& tensor, const layout::Box& box, device::Tensor into) const;
    void write(const std::string& tensor, const layout::Box& box, device::ConstTensor from) const;

    // `box` of another memory, without a copy between.
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
