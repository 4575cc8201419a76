#include "trireme/schedule/row_buffers.hpp"

#include <algorithm>
#include <map>

namespace trireme::schedule {
namespace {

class BufferWalk {
public:
    BufferWalk(int team, const PipelineShape& shape) : team_(team), shape_(shape) {}

    void go_through(const Instruction& instruction) {
        const auto [op, stage, microbatch, age] = instruction;
        if (is_receive(op)) take();
        if (op == Op::forward && !shape_.is_training) give_back(came_by_message(stage - 1, microbatch));
        if (op == Op::backward || op == Op::backward_input) make_gradient(stage, microbatch);
        if (op == Op::backward || op == Op::backward_weight) finish(stage, microbatch);
    }

    std::size_t most() const { return most_; }

private:
    bool is_stage(int stage) const { return stage >= 0 && stage < shape_.stages(); }
    bool came_by_message(int from_stage, int microbatch) const {
        return is_stage(from_stage) && shape_.executor_of(from_stage, microbatch) != team_;
    }

    void take() { most_ = std::max(most_, ++in_use_); }
    void give_back(bool there_is_one) { in_use_ -= there_is_one ? 1 : 0; }

    // Takes a buffer for the gradient that the stage before reads.
    void make_gradient(int stage, int microbatch) {
        if (stage == 0) return;
        if (came_by_message(stage - 1, microbatch)) {
            std::size_t& leaving = leaving_[shape_.executor_of(stage - 1, microbatch)];
            const bool is_full = leaving == static_cast<std::size_t>(shape_.slots);
            give_back(is_full);
            leaving += is_full ? 0 : 1;
        }
        take();
    }

    // Frees the input and the received gradient. Called when both halves of the backward are done.
    void finish(int stage, int microbatch) {
        give_back(came_by_message(stage - 1, microbatch));
        give_back(is_stage(stage + 1));
    }

    int team_;
    const PipelineShape& shape_;
    std::map<int, std::size_t> leaving_;  // gradients being sent, by destination team
    std::size_t in_use_ = 0;
    std::size_t most_ = 0;
};

}  // namespace

std::size_t most_row_buffers(const Program& program, int team, const PipelineShape& shape) {
    BufferWalk walk(team, shape);
    for (const Instruction& instruction : program) walk.go_through(instruction);
    return walk.most();
}

}  // namespace trireme::schedule
