// Views of the tensors in a rank's memory that a checkpoint stores or restores.
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

// Adds a view for each box of the whole tensor that has elements in `memory`. The caller ensures that `memory`
// has the elements of the box `local` of the matrix that this rank stores for the parameter `spec`.
void add_views(std::vector<StateView>& views, const model::ParameterSpec& spec, StateField field,
               const layout::Box& local, device::Tensor memory);

// A set of views that do not overlap, from which boxes can be copied.
class StateViews {
public:
    explicit StateViews(std::vector<StateView> views);

    // Copies a box into `to`, row by row without gaps. Throws BugError if the views do not cover the box.
    void copy(const std::string& tensor, StateField field, const layout::Box& box, std::span<std::byte> to,
              const device::WaitPolicy& wait_policy = {}) const;

private:
    std::vector<StateView> views_;  // sorted by tensor and field
};

}  // namespace trireme::checkpoint
