// Views of a rank's memory: the values and moments of tensors that a checkpoint stores or restores.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "trireme/checkpoint/checkpoint_state.hpp"
#include "trireme/device/tensor.hpp"
#include "trireme/device/wait.hpp"

namespace trireme::checkpoint {

// A box of a tensor, and the memory with the elements of the box for one field (values or a moment).
struct StateView {
    std::string tensor;
    StateField field = StateField::value;
    layout::Box box;        // in coordinates of the whole tensor
    device::Tensor memory;  // the box's rows and columns, possibly with gaps between rows
};

// Appends to `views` one view for each box of the whole tensor that has elements in `memory`. This rank stores
// the parameter `spec` as a matrix. The caller ensures that `memory` has the elements of `local`, a box of that
// matrix.
void add_views(std::vector<StateView>& views, const model::ParameterSpec& spec, StateField field,
               const layout::Box& local, device::Tensor memory);

// A set of views that do not overlap. copy() copies boxes of tensors out of the viewed memory.
class StateViews {
public:
    explicit StateViews(std::vector<StateView> views);

    // Copies the elements of `box` into `to`, row by row without gaps. `to` must be exactly as long as the box.
    // Elements of bf16 memory, the values of frozen parameters, become f32.
    // Throws BugError if the views do not cover the box.
    void copy(const std::string& tensor, StateField field, const layout::Box& box, std::span<std::byte> to,
              const device::WaitPolicy& wait_policy = {}) const;

private:
    std::vector<StateView> views_;  // sorted by tensor and field
};

}  // namespace trireme::checkpoint
