// The state of a run as it lies in the memory of a rank.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "trireme/checkpoint/checkpoint_state.hpp"
#include "trireme/device/tensor.hpp"
#include "trireme/device/wait.hpp"

namespace trireme::checkpoint {

// A box of a tensor, or of one of its moments.
struct StateView {
    std::string tensor;
    StateField field = StateField::value;
    layout::Box box;        // of the whole tensor
    device::Tensor memory;  // of the box's rows and columns, perhaps with gaps between rows
};

// Adds what lies in `memory`, which is the box `local` of this rank's part of a parameter.
void add_views(std::vector<StateView>& views, const model::ParameterSpec& spec, StateField field,
               const layout::Box& local, device::Tensor memory);

// Finds parts of tensors among views, none of which overlap.
class StateViews {
public:
    explicit StateViews(std::vector<StateView> views);

    // Copies a box, row by row, from the views that make it up. Throws BugError where they do not.
    void copy(const std::string& tensor, StateField field, const layout::Box& box, std::span<std::byte> to,
              const device::Patience& patience = {}) const;

private:
    std::vector<StateView> views_;  // sorted by tensor and field
};

}  // namespace trireme::checkpoint
