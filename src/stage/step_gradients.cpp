#include "stage/step_gradients.hpp"

namespace trireme::stage {

void StepGradients::add_pass(const schedule::Instruction& pass) {
    if (pass.op == schedule::Op::backward || pass.op == schedule::Op::backward_weight)
        last_backward_[pass.stage] = pass;
}

bool StepGradients::is_last(const schedule::Instruction& backward) const {
    const schedule::Instruction& last = last_backward_.at(backward.stage);
    return last.op == backward.op && last.microbatch == backward.microbatch;
}

std::vector<std::size_t> StepGradients::complete(const std::vector<std::size_t>& parameters) {
    std::vector<std::size_t> completed;
    for (const std::size_t parameter : parameters)
        if (--missing_uses_[parameter] == 0) completed.push_back(parameter);
    return completed;
}

}  // namespace trireme::stage
