// Views of the state of a run in the memory of a rank.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "trireme/checkpoint/checkpoint_state.hpp"
#include "trireme/device/tensor.hpp"
#include "trireme/device/wait.hpp"

namespace trireme::checkpoint {

// A box of a tensor's values or of one of its moments, in memory.
struct StateView {
    std::string tensor;
    StateField field = StateField::value;
    layout::Box box;        // in coordinates of the whole tensor
    device::Tensor memory;  // the box's rows and columns, possibly with gaps between rows
};

// Adds views of `memory`, which holds the box `local` of this rank's slice of a parameter.
void add_views(std::vector<StateView>& views, const model::ParameterSpec& spec, StateField field,
               const layout::Box& local, device::Tensor memory);

// Finds boxes of tensors in a set of views that do not overlap.
class StateViews {
public:
    explicit StateViews(std::vector<StateView> views);

    // Copies a box, row by row, from the views that contain it. Throws BugError if they do not cover it.
    void copy(const std::string& tensor, StateField field, const layout::Box& box, std::span<std::byte> to,
              const device::Patience& patience = {}) const;

private:
    std::vector<StateView> views_;  // sorted by tensor and field
};

}  // namespace trireme::checkpoint
