#include "trireme/schedule/row_buffers.hpp"

#include <algorithm>
#include <map>

namespace trireme::schedule {
namespace {

// Finds the largest number of buffers that are in use at once while `team` executes its program: see
// count_row_buffers().
class BufferCounter {
public:
    BufferCounter(int team, const PipelineShape& shape) : team_(team), shape_(shape) {}

    void execute(const Instruction& instruction) {
        const auto [op, stage, microbatch, age] = instruction;
        if (is_receive(op)) take_buffer();
        if (op == Op::forward && !shape_.is_training) free_buffer_if(has_other_executor(stage - 1, microbatch));
        if (op == Op::backward || op == Op::backward_input) produce_gradient(stage, microbatch);
        if (op == Op::backward || op == Op::backward_weight) free_backward_buffers(stage, microbatch);
    }

    std::size_t max_in_use() const { return max_in_use_; }

private:
    bool has_stage(int stage) const { return stage >= 0 && stage < shape_.stages(); }
    // True if the stage exists and another team executes the micro-batch in it.
    bool has_other_executor(int stage, int microbatch) const {
        return has_stage(stage) && shape_.find_executor(stage, microbatch) != team_;
    }

    void take_buffer() { max_in_use_ = std::max(max_in_use_, ++in_use_); }
    void free_buffer_if(bool is_in_use) { in_use_ -= is_in_use ? 1 : 0; }

    // Takes a buffer for the gradient that `stage` computes and the previous stage reads. If earlier gradients
    // occupy all slots of the channel, the team first waits until the oldest one is sent, which frees its
    // buffer.
    void produce_gradient(int stage, int microbatch) {
        if (stage == 0) return;
        if (has_other_executor(stage - 1, microbatch)) {
            std::size_t& in_flight = gradients_in_flight_[shape_.find_executor(stage - 1, microbatch)];
            const bool is_full = in_flight == static_cast<std::size_t>(shape_.slots);
            free_buffer_if(is_full);
            in_flight += is_full ? 0 : 1;
        }
        take_buffer();
    }

    // Frees the buffers of the activation and of the gradient that the stage has read. Called after both halves
    // of the backward. An activation that the same team computed is in its stash and has no buffer to free.
    void free_backward_buffers(int stage, int microbatch) {
        free_buffer_if(has_other_executor(stage - 1, microbatch));
        free_buffer_if(has_stage(stage + 1));
    }

    int team_;
    const PipelineShape& shape_;
    // Per destination team: number of gradients that are possibly not sent yet, at most `slots`.
    std::map<int, std::size_t> gradients_in_flight_;
    std::size_t in_use_ = 0;
    std::size_t max_in_use_ = 0;
};

}  // namespace

std::size_t count_row_buffers(const Program& program, int team, const PipelineShape& shape) {
    BufferCounter counter(team, shape);
    for (const Instruction& instruction : program) counter.execute(instruction);
    return counter.max_in_use();
}

}  // namespace trireme::schedule
