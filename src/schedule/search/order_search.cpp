#include "schedule/search/order_search.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>

#include "trireme/base/random.hpp"

namespace trireme::schedule {
namespace {

constexpr std::size_t farthest = 6;  // positions that an instruction moves at most

struct Move {
    std::size_t team = 0;
    std::size_t from = 0;
    std::size_t to = 0;
};

// Moves the instruction at `from` to position `to`.
void apply_move(Program& program, const Move& move) {
    const auto at = [&](std::size_t place) { return program.begin() + static_cast<std::ptrdiff_t>(place); };
    if (move.from < move.to) std::rotate(at(move.from), at(move.from + 1), at(move.to + 1));
    if (move.from > move.to) std::rotate(at(move.to), at(move.from), at(move.from + 1));
}

Move back(const Move& move) { return {move.team, move.to, move.from}; }

// True if the move would reorder work on the same micro-batch in the same or a neighbouring stage.
bool passes_its_like(const Program& program, const Move& move) {
    const Instruction& moved = program[move.from];
    const auto [first, last] = std::minmax(move.from, move.to);
    for (std::size_t place = first; place <= last; ++place) {
        const Instruction& other = program[place];
        const bool is_like = std::abs(other.stage - moved.stage) <= 1 && other.microbatch == moved.microbatch;
        if (is_like && place != move.from) return true;
    }
    return false;
}

int most_kept(const Program& program) {
    int kept = 0;
    int most = 0;
    for (const Instruction& each : program) {
        if (each.op == Op::forward) most = std::max(most, ++kept);
        if (each.op == Op::backward || each.op == Op::backward_weight) --kept;
    }
    return most;
}

class OrderSearch {
public:
    OrderSearch(const std::vector<Program>& programs, const PipelineShape& shape, ProgramClock& clock)
        : programs_(programs), shape_(shape), clock_(clock), duration_(duration_of(programs, clock)) {}

    void attempt(const Move& move) {
        Program& program = programs_[move.team];
        if (passes_its_like(program, move)) return;
        apply_move(program, move);
        const double duration = keeps_to_bound(move.team) ? duration_of(programs_, clock_) : never;
        if (duration <= duration_) {  // equally long programs may lead to shorter ones
            duration_ = duration;
        } else {
            apply_move(program, back(move));
        }
    }

    Move drawn(std::uint64_t position) const {
        const RandomBlock numbers = random_block(RandomKey{}.then("move"), position);
        const std::size_t team = numbers[0] % programs_.size();
        const std::size_t size = programs_[team].size();
        if (size == 0) return {};
        const std::size_t from = numbers[1] % size;
        const std::size_t distance = 1 + numbers[2] % farthest;
        const bool is_later = numbers[3] % 2 == 0;
        return {team, from, is_later ? std::min(from + distance, size - 1) : from - std::min(from, distance)};
    }

    const std::vector<Program>& programs() const { return programs_; }
    double duration() const { return duration_; }

private:
    bool keeps_to_bound(std::size_t team) const {
        return shape_.most_activations.empty() || most_kept(programs_[team]) <= shape_.most_activations[team];
    }

    std::vector<Program> programs_;
    const PipelineShape& shape_;
    ProgramClock& clock_;
    double duration_;
};

}  // namespace

std::vector<Program> with_moved_work(const std::vector<Program>& programs, const PipelineShape& shape,
                                     ProgramClock& clock, std::size_t attempts) {
    OrderSearch search(programs, shape, clock);
    const double before = search.duration();
    for (std::uint64_t position = 0; position < attempts; ++position) {
        const Move move = search.drawn(position);
        if (move.from != move.to) search.attempt(move);
    }
    return search.duration() < before ? search.programs() : programs;
}

}  // namespace trireme::schedule
