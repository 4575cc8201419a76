#include "trireme/schedule/step_buffers.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
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
    bool is_trained(int stage) const { return has_stage(stage) && shape_.trains(stage); }
    bool is_executor(int stage, int microbatch) const {
        return has_stage(stage) && shape_.find_executor(stage, microbatch) == team_;
    }

    void take(BufferKind kind, const Instruction& taker) {
        const auto [op, stage, microbatch, age, mhz] = taker;
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

    // Frees the output of a stage that is not trained, from instruction number `end` on, if the team also
    // executes the next stage and so has not sent the output.
    void free_output(int stage, int microbatch, std::size_t end) {
        if (is_executor(stage, microbatch)) free({Tensor::stash, stage, microbatch}, end);
    }

    void compute(const Instruction& instruction) {
        const auto [op, stage, microbatch, age, mhz] = instruction;
        free_slot(instruction);
        take(BufferKind::workspace, instruction);
        if (op == Op::forward) take(BufferKind::stash, instruction);
        if ((op == Op::backward || op == Op::backward_input) && is_trained(stage - 1))
            take(BufferKind::rows, instruction);
        const std::size_t end = position_ + 1;
        if (op == Op::backward || op == Op::backward_weight) {
            for (const Tensor tensor : {Tensor::stash, Tensor::input, Tensor::grad_output})
                free({tensor, stage, microbatch}, end);
            if (is_executor(stage + 1, microbatch)) free({Tensor::grad_input, stage + 1, microbatch}, end);
            if (!is_trained(stage - 1)) free_output(stage - 1, microbatch, end);
        }
        if (op == Op::forward && !is_trained(stage)) {
            free({Tensor::input, stage, microbatch}, end);
            free_output(stage - 1, microbatch, end);
            if (!has_stage(stage + 1)) free({Tensor::stash, stage, microbatch}, end);
        }
    }

    // The team that receives the result of a compute instruction, and true if the result is a gradient.
    using Channel = std::pair<int, bool>;

    // Before an instruction whose result is sent, the team waits until a slot of the channel is free. The slot
    // becomes free when the oldest message of the channel is complete.
    void free_slot(const Instruction& compute) {
        const auto [op, stage, microbatch, age, mhz] = compute;
        if (op == Op::backward_weight) return;
        const bool is_gradient = op != Op::forward;
        const int receiver_stage = stage + (is_gradient ? -1 : 1);
        const bool has_receiver = is_gradient ? is_trained(receiver_stage) : has_stage(receiver_stage);
        if (!has_receiver || is_executor(receiver_stage, microbatch)) return;
        std::deque<Key>& sends = sends_[{shape_.find_executor(receiver_stage, microbatch), is_gradient}];
        while (sends.size() >= static_cast<std::size_t>(shape_.slots)) {
            // A sent output is in the stash. A trained stage still needs the stash: its backward frees it.
            if (is_gradient || !is_trained(std::get<1>(sends.front()))) free(sends.front(), position_);
            sends.pop_front();
        }
    }

    void start_send(const Instruction& send) {
        const auto [op, stage, microbatch, age, mhz] = send;
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
    std::size_t end = 0;
    for (const BufferUse& use : uses) end = std::max(end, use.end);
    std::vector<std::size_t> changes(end + 1);  // by index of the program; a decrease wraps around
    for (std::size_t i = 0; i < uses.size(); ++i) {
        changes[uses[i].begin] += round_up_to_cache_lines(bytes[i]);
        changes[uses[i].end] -= round_up_to_cache_lines(bytes[i]);
    }
    std::size_t in_use = 0;
    std::size_t max_in_use = 0;
    for (const std::size_t change : changes) max_in_use = std::max(max_in_use, in_use += change);
    return max_in_use;
}

// The hole that a buffer takes, of all holes between placed buffers that are in use at the same time.
//   first   the lowest hole that is large enough
//   best    the smallest hole that is large enough
enum class Fit : std::uint8_t { first, best };

// Places the buffers one after the other, in the order `order`, each in the hole that `fit` selects. Stops when
// the block has at least `max_bytes` bytes; the placement is incomplete then.
BufferPlacement place_in_order(const std::vector<BufferUse>& uses, const std::vector<std::size_t>& bytes,
                               const std::vector<std::size_t>& order, Fit fit, std::size_t max_bytes) {
    struct Placed {
        std::size_t offset, top;  // bytes from `offset` to `top` - 1
        std::size_t begin, end;   // see BufferUse
    };
    BufferPlacement placement{.offsets = std::vector<std::size_t>(uses.size(), 0)};
    std::vector<Placed> placed;  // sorted by offset
    placed.reserve(uses.size());
    for (const std::size_t buffer : order) {
        const auto [begin, end] = std::pair(uses[buffer].begin, uses[buffer].end);
        const std::size_t needed = bytes[buffer];
        std::size_t hole_begin = 0;
        std::optional<std::size_t> offset;
        std::size_t smallest_hole = std::numeric_limits<std::size_t>::max();
        for (const Placed& other : placed) {
            if (begin >= other.end || other.begin >= end) continue;
            if (other.offset >= hole_begin + needed && other.offset - hole_begin < smallest_hole) {
                offset = hole_begin;
                smallest_hole = other.offset - hole_begin;
                if (fit == Fit::first) break;
            }
            hole_begin = std::max(hole_begin, other.top);
        }
        const std::size_t chosen = offset.value_or(hole_begin);
        const std::size_t top = round_up_to_cache_lines(chosen + needed);
        placement.offsets[buffer] = chosen;
        placement.bytes = std::max(placement.bytes, top);
        if (placement.bytes >= max_bytes) return placement;
        placed.insert(std::ranges::upper_bound(placed, chosen, {}, &Placed::offset), {chosen, top, begin, end});
    }
    return placement;
}

// Places the buffers of each kind in slots that have the size of the largest buffer of this kind.
BufferPlacement place_in_slots(const std::vector<BufferUse>& uses, const std::vector<std::size_t>& bytes) {
    BufferPlacement placement{.offsets = std::vector<std::size_t>(uses.size(), 0)};
    for (const BufferKind kind : {BufferKind::stash, BufferKind::rows, BufferKind::workspace}) {
        std::size_t slot_bytes = 0;
        for (std::size_t i = 0; i < uses.size(); ++i)
            if (uses[i].kind == kind) slot_bytes = std::max(slot_bytes, round_up_to_cache_lines(bytes[i]));
        std::vector<std::size_t> free_from;  // per slot: the end of its last use
        for (std::size_t i = 0; i < uses.size(); ++i) {
            if (uses[i].kind != kind) continue;
            const auto slot =
                std::ranges::find_if(free_from, [&](std::size_t end) { return end <= uses[i].begin; });
            placement.offsets[i] =
                placement.bytes + static_cast<std::size_t>(slot - free_from.begin()) * slot_bytes;
            slot == free_from.end() ? free_from.push_back(uses[i].end) : void(*slot = uses[i].end);
        }
        placement.bytes += free_from.size() * slot_bytes;
    }
    return placement;
}

// Returns the sizes with those of equal kinds rounded up to few different ones, so that a buffer fits into the
// hole of another one: a size is raised to the next larger one if it has at least 3/4 of it.
std::vector<std::size_t> merge_similar_sizes(const std::vector<BufferUse>& uses,
                                             const std::vector<std::size_t>& bytes) {
    std::vector<std::size_t> order(bytes.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, std::ranges::greater{},
                      [&](std::size_t i) { return std::pair(uses[i].kind, bytes[i]); });
    std::vector<std::size_t> merged = bytes;
    for (std::size_t i = 1; i < order.size(); ++i) {
        const std::size_t larger = order[i - 1];
        std::size_t& size = merged[order[i]];
        if (uses[order[i]].kind == uses[larger].kind && 4 * size >= 3 * merged[larger]) size = merged[larger];
    }
    return merged;
}

// Tries several placements of the same buffers, until one needs hardly more than `max_in_use`, the bytes that
// are in use at once, or at most `limit` bytes.
class PlacementSearch {
public:
    PlacementSearch(const std::vector<BufferUse>& uses, const std::vector<std::size_t>& bytes,
                    std::size_t max_in_use, std::size_t limit = 0)
        : uses_(uses),
          bytes_(bytes),
          sufficient_bytes_(std::max(limit, max_in_use / 100 * 101)),
          best_(place_in_slots(uses, bytes)) {}

    BufferPlacement find() {
        std::vector<std::size_t> order(uses_.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        try_order(order, bytes_, Fit::first);
        std::ranges::stable_sort(order, std::ranges::greater{}, [&](std::size_t i) { return uses_[i].kind; });
        try_order(order, bytes_, Fit::first);
        try_order(order, bytes_, Fit::best);
        if (!is_done()) try_order(order, merge_similar_sizes(uses_, bytes_), Fit::first);
        std::ranges::sort(order);
        std::ranges::stable_sort(order, std::ranges::greater{}, [&](std::size_t i) { return bytes_[i]; });
        improve_order(std::move(order));
        return std::move(best_);
    }

private:
    bool is_done() const { return best_.bytes <= sufficient_bytes_; }

    void try_order(const std::vector<std::size_t>& order, const std::vector<std::size_t>& bytes, Fit fit) {
        if (!is_done()) keep_if_better(place_in_order(uses_, bytes, order, fit, best_.bytes));
    }
    void keep_if_better(BufferPlacement placement) {
        if (placement.bytes < best_.bytes) best_ = std::move(placement);
    }

    // Places the buffers in `order`, and moves the buffer at the end of the block to the front of the order,
    // again and again. Long programs get few attempts.
    void improve_order(std::vector<std::size_t> order) {
        constexpr std::size_t max_attempts = 24;
        constexpr std::size_t max_comparisons = 2'000'000;
        const std::size_t comparisons = 1 + uses_.size() * uses_.size();  // of one attempt
        for (std::size_t left = std::min(max_attempts, max_comparisons / comparisons); left > 0 && !is_done();
             --left) {
            constexpr std::size_t no_limit = std::numeric_limits<std::size_t>::max();
            BufferPlacement placement = place_in_order(uses_, bytes_, order, Fit::first, no_limit);
            const auto last = std::ranges::max_element(
                order, {}, [&](std::size_t i) { return placement.offsets[i] + bytes_[i]; });
            keep_if_better(std::move(placement));
            if (last == order.begin()) return;  // all other attempts would be equal
            std::rotate(order.begin(), last, last + 1);
        }
    }

    const std::vector<BufferUse>& uses_;
    const std::vector<std::size_t>& bytes_;
    std::size_t sufficient_bytes_;
    BufferPlacement best_;
};

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

BufferPlacement place_buffers(const std::vector<BufferUse>& uses, const std::vector<std::size_t>& bytes) {
    return PlacementSearch(uses, bytes, find_max_bytes_in_use(uses, bytes)).find();
}

bool can_place_buffers(const std::vector<BufferUse>& uses, const std::vector<std::size_t>& bytes,
                       std::size_t limit) {
    const std::size_t max_in_use = find_max_bytes_in_use(uses, bytes);
    return max_in_use <= limit && PlacementSearch(uses, bytes, max_in_use, limit).find().bytes <= limit;
}

// The steps must also take their buffers in the same order: the work that a body does for the next step, after
// its STEPs, must be that of the prologue.
bool have_steps_common_buffers(const Phases& phases, int microbatches) {
    for (std::size_t team = 0; team < phases.body.size(); ++team) {
        Program work_ahead;
        bool is_after_step = false;
        for (Instruction each : phases.body[team]) {
            is_after_step = is_after_step || each.op == Op::step;
            if (!has_microbatch(each.op)) continue;
            if (each.microbatch / microbatches != (is_after_step ? 1 : 0)) return true;
            each.microbatch -= microbatches;
            if (is_after_step) work_ahead.push_back(each);
        }
        if (work_ahead != phases.prologue[team]) return true;
    }
    return false;
}

}  // namespace trireme::schedule
