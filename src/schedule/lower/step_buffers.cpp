#include "trireme/schedule/step_buffers.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <numeric>
#include <tuple>

#include "trireme/base/numbers.hpp"

namespace trireme::schedule {
namespace {

// Follows the buffers of a team through its program, as list_buffer_uses() describes.
class BufferFollower {
public:
    BufferFollower(int team, const PipelineShape& shape, const std::vector<bool>& empty_microbatches)
        : team_(team), shape_(shape), empty_microbatches_(empty_microbatches) {}

    void execute(const Instruction& instruction) {
        if (has_microbatch(instruction.op) && !is_empty(instruction.microbatch)) {
            if (is_receive(instruction.op)) take(BufferKind::rows, instruction);
            if (is_send(instruction.op)) start_send(instruction);
            if (is_compute(instruction.op)) compute(instruction);
        }
        ++position_;
    }

    std::vector<BufferUse> finish() {
        for (const auto& [key, index] : in_use_) uses_[index].end = position_;
        return std::move(uses_);
    }

private:
    // A result of a stage and a micro-batch: its stash, its received input, or a gradient.
    enum class Tensor : std::uint8_t { stash, input, grad_output, grad_input };
    using Key = std::tuple<Tensor, int, int>;  // with the stage and the micro-batch

    bool is_empty(int microbatch) const {
        return !empty_microbatches_.empty() &&
               empty_microbatches_[static_cast<std::size_t>(microbatch % shape_.microbatches)];
    }
    bool has_stage(int stage) const { return stage >= 0 && stage < shape_.stages(); }
    bool is_executor(int stage, int microbatch) const {
        return has_stage(stage) && shape_.find_executor(stage, microbatch) == team_;
    }

    void take(BufferKind kind, const Instruction& taker) {
        const auto [op, stage, microbatch, age] = taker;
        if (kind != BufferKind::workspace) in_use_[{find_tensor(op), stage, microbatch}] = uses_.size();
        uses_.push_back({.kind = kind, .taker = taker, .begin = position_, .end = position_ + 1});
    }

    static Tensor find_tensor(Op taker) {
        if (taker == Op::forward) return Tensor::stash;
        if (taker == Op::receive_forward) return Tensor::input;
        return taker == Op::receive_backward ? Tensor::grad_output : Tensor::grad_input;
    }

    // Frees a buffer from instruction number `end` on, if the tensor has a buffer.
    void free(const Key& key, std::size_t end) {
        const auto found = in_use_.find(key);
        if (found == in_use_.end()) return;
        uses_[found->second].end = end;
        in_use_.erase(found);
    }

    void compute(const Instruction& instruction) {
        const auto [op, stage, microbatch, age] = instruction;
        free_slot(instruction);
        take(BufferKind::workspace, instruction);
        if (op == Op::forward) take(BufferKind::stash, instruction);
        if ((op == Op::backward || op == Op::backward_input) && stage > 0) take(BufferKind::rows, instruction);
        const std::size_t end = position_ + 1;
        if (op == Op::backward || op == Op::backward_weight) {
            for (const Tensor tensor : {Tensor::stash, Tensor::input, Tensor::grad_output})
                free({tensor, stage, microbatch}, end);
            if (is_executor(stage + 1, microbatch)) free({Tensor::grad_input, stage + 1, microbatch}, end);
        }
        if (op == Op::forward && !shape_.is_training) {
            free({Tensor::input, stage, microbatch}, end);
            if (is_executor(stage - 1, microbatch)) free({Tensor::stash, stage - 1, microbatch}, end);
            if (!has_stage(stage + 1)) free({Tensor::stash, stage, microbatch}, end);
        }
    }

    // The team that receives the result of a compute instruction, and true if the result is a gradient.
    using Channel = std::pair<int, bool>;

    // Before an instruction whose result is sent, the team waits until a slot of the channel is free. The slot
    // becomes free when the oldest message of the channel is complete.
    void free_slot(const Instruction& compute) {
        const auto [op, stage, microbatch, age] = compute;
        if (op == Op::backward_weight) return;
        const bool is_gradient = op != Op::forward;
        const int receiver_stage = stage + (is_gradient ? -1 : 1);
        if (!has_stage(receiver_stage) || is_executor(receiver_stage, microbatch)) return;
        std::deque<Key>& sends = sends_[{shape_.find_executor(receiver_stage, microbatch), is_gradient}];
        while (sends.size() >= static_cast<std::size_t>(shape_.slots)) {
            // In training, the backward of the stage frees the stash with the sent output.
            if (is_gradient || !shape_.is_training) free(sends.front(), position_);
            sends.pop_front();
        }
    }

    void start_send(const Instruction& send) {
        const auto [op, stage, microbatch, age] = send;
        const bool is_gradient = op == Op::send_backward;
        const int receiver_stage = stage + (is_gradient ? -1 : 1);
        sends_[{shape_.find_executor(receiver_stage, microbatch), is_gradient}].push_back(
            {is_gradient ? Tensor::grad_input : Tensor::stash, stage, microbatch});
    }

    int team_;
    const PipelineShape& shape_;
    const std::vector<bool>& empty_microbatches_;
    std::size_t position_ = 0;
    std::vector<BufferUse> uses_;
    std::map<Key, std::size_t> in_use_;         // index in uses_
    std::map<Channel, std::deque<Key>> sends_;  // tensors of messages that are possibly not complete
};

// Returns the largest sum of the sizes of buffers that are in use at once. No block of memory can be smaller.
std::size_t find_max_bytes_in_use(const std::vector<BufferUse>& uses, const std::vector<std::size_t>& bytes) {
    std::map<std::size_t, std::size_t> changes;  // by index of the program; a decrease wraps around
    for (std::size_t i = 0; i < uses.size(); ++i) {
        changes[uses[i].begin] += round_up_to_cache_lines(bytes[i]);
        changes[uses[i].end] -= round_up_to_cache_lines(bytes[i]);
    }
    std::size_t in_use = 0;
    std::size_t max_in_use = 0;
    for (const auto& [position, change] : changes) max_in_use = std::max(max_in_use, in_use += change);
    return max_in_use;
}

// Places the buffers one after the other, in the order `order`. Each buffer gets the lowest offset at which it
// overlaps no placed buffer that is in use at the same time.
BufferPlacement place_first_fit(const std::vector<BufferUse>& uses, const std::vector<std::size_t>& bytes,
                                const std::vector<std::size_t>& order) {
    BufferPlacement placement{.offsets = std::vector<std::size_t>(uses.size(), 0)};
    const bool is_in_program_order = std::ranges::is_sorted(order);
    std::vector<std::size_t> placed;  // sorted by offset
    for (const std::size_t buffer : order) {
        if (is_in_program_order)
            std::erase_if(placed, [&](std::size_t other) { return uses[other].end <= uses[buffer].begin; });
        std::size_t& offset = placement.offsets[buffer];
        for (const std::size_t other : placed) {
            if (!uses[buffer].overlaps(uses[other])) continue;
            if (placement.offsets[other] >= offset + bytes[buffer]) break;
            offset = std::max(offset, round_up_to_cache_lines(placement.offsets[other] + bytes[other]));
        }
        const auto next = std::ranges::upper_bound(placed, offset, {},
                                                   [&](std::size_t other) { return placement.offsets[other]; });
        placed.insert(next, buffer);
        placement.bytes = std::max(placement.bytes, round_up_to_cache_lines(offset + bytes[buffer]));
    }
    return placement;
}

}  // namespace

std::vector<BufferUse> list_buffer_uses(const Program& program, int team, const PipelineShape& shape,
                                        const std::vector<bool>& empty_microbatches) {
    BufferFollower follower(team, shape, empty_microbatches);
    for (const Instruction& instruction : program) follower.execute(instruction);
    return follower.finish();
}

std::size_t count_buffers_in_use(const std::vector<BufferUse>& uses, BufferKind kind) {
    std::map<std::size_t, long long> changes;  // by index of the program
    for (const BufferUse& use : uses) {
        if (use.kind != kind) continue;
        ++changes[use.begin];
        --changes[use.end];
    }
    long long in_use = 0;
    long long max_in_use = 0;
    for (const auto& [position, change] : changes) max_in_use = std::max(max_in_use, in_use += change);
    return static_cast<std::size_t>(max_in_use);
}

// First fit depends on the order of the buffers. The first order is that of the program, in which few placed
// buffers are in use at a time, so that long programs take little time. The second order begins with the
// largest buffers. Then, the buffer at the end of the block moves to the front of the order, again and again,
// until the block is at most 1 % too large or many attempts have failed.
BufferPlacement place_buffers(const std::vector<BufferUse>& uses, const std::vector<std::size_t>& bytes) {
    constexpr std::size_t max_attempts = 24;
    constexpr std::size_t max_comparisons = 4'000'000;
    const std::size_t comparisons = 1 + uses.size() * uses.size();  // of one attempt
    const std::size_t attempts = std::min(max_attempts, max_comparisons / comparisons);
    const std::size_t min_bytes = find_max_bytes_in_use(uses, bytes);
    std::vector<std::size_t> order(uses.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    BufferPlacement best = place_first_fit(uses, bytes, order);
    std::ranges::stable_sort(order, std::ranges::greater{}, [&](std::size_t buffer) { return bytes[buffer]; });
    for (std::size_t attempt = 0; attempt < attempts && best.bytes > min_bytes + min_bytes / 100; ++attempt) {
        const BufferPlacement placement = place_first_fit(uses, bytes, order);
        const auto last = std::ranges::max_element(
            order, {}, [&](std::size_t buffer) { return placement.offsets[buffer] + bytes[buffer]; });
        std::rotate(order.begin(), last, last + 1);
        if (placement.bytes < best.bytes) best = placement;
    }
    return best;
}

bool have_steps_common_buffers(const Phases& phases, int microbatches) {
    const auto belongs_to_step = [&](const Instruction& instruction, int step) {
        return !has_microbatch(instruction.op) || instruction.microbatch / microbatches == step;
    };
    for (std::size_t team = 0; team < phases.body.size(); ++team) {
        if (has_prologue(phases) && !std::ranges::all_of(phases.prologue[team], [&](const Instruction& each) {
                return belongs_to_step(each, 0);
            }))
            return true;
        bool is_after_step = false;
        for (const Instruction& each : phases.body[team]) {
            is_after_step = is_after_step || each.op == Op::step;
            if (!belongs_to_step(each, is_after_step ? 1 : 0)) return true;
        }
    }
    return false;
}

}  // namespace trireme::schedule
