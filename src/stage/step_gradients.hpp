// Finds the passes of a step that complete the gradients of parameters.
#pragma once

#include <map>
#include <vector>

#include "trireme/schedule/instruction.hpp"

namespace trireme::stage {

class StepGradients {
public:
    // `uses` is the number of layers that add to the gradient of each parameter.
    explicit StepGradients(std::vector<std::size_t> uses = {}) : missing_uses_(std::move(uses)) {}

    // Adds the next pass of the step with samples.
    void add_pass(const schedule::Instruction& pass);

    bool has_backward(int stage) const { return last_backward_.contains(stage); }
    // True for the last backward pass of its stage. This pass completes the gradients of the stage.
    bool is_last(const schedule::Instruction& backward) const;
    // Called when a layer has added its last gradients to `parameters`. Returns those of them whose gradients
    // are complete, because no other layer uses them.
    std::vector<std::size_t> complete(const std::vector<std::size_t>& parameters);

private:
    std::map<int, schedule::Instruction> last_backward_ = {};  // by stage
    std::vector<std::size_t> missing_uses_;  // per parameter: number of layers without gradients yet
};

}  // namespace trireme::stage
