#include "schedule/search/order_search.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>

#include "trireme/base/random.hpp"

namespace trireme::schedule {
namespace {

constexpr std::size_t max_move_distance = 6;  // in positions

// A change of a team's program: the instruction at position `from` moves to position `to`. The instructions in
// between shift by one position.
struct Move {
    std::size_t team = 0;
    std::size_t from = 0;
    std::size_t to = 0;
};

void apply_move(Program& program, const Move& move) {
    const auto iterator_at = [&](std::size_t position) {
        return program.begin() + static_cast<std::ptrdiff_t>(position);
    };
    if (move.from < move.to)
        std::rotate(iterator_at(move.from), iterator_at(move.from + 1), iterator_at(move.to + 1));
    if (move.from > move.to)
        std::rotate(iterator_at(move.to), iterator_at(move.from), iterator_at(move.from + 1));
}

Move reverse_move(const Move& move) { return {move.team, move.to, move.from}; }

// True if the move would change the order of two instructions that work on the same micro-batch, in the same
// stage or in neighbouring stages.
bool breaks_order(const Program& program, const Move& move) {
    const Instruction& moved_instruction = program[move.from];
    const auto [first, last] = std::minmax(move.from, move.to);
    for (std::size_t position = first; position <= last; ++position) {
        const Instruction& other = program[position];
        const bool is_dependent = std::abs(other.stage - moved_instruction.stage) <= 1 &&
                                  other.microbatch == moved_instruction.microbatch;
        if (is_dependent && position != move.from) return true;
    }
    return false;
}

int find_peak_activations(const Program& program) {
    int stashed = 0;
    int peak = 0;
    for (const Instruction& instruction : program) {
        if (instruction.op == Op::forward) peak = std::max(peak, ++stashed);
        if (instruction.op == Op::backward || instruction.op == Op::backward_weight) --stashed;
    }
    return peak;
}

class OrderSearch {
public:
    OrderSearch(const std::vector<Program>& programs, const PipelineShape& shape, ProgramClock& clock)
        : programs_(programs), shape_(shape), clock_(clock), duration_(compute_duration(programs, clock)) {}

    // Applies the move, unless the move exceeds an activation limit, makes the programs longer, or changes the
    // order of dependent instructions (see breaks_order()).
    void try_move(const Move& move) {
        Program& program = programs_[move.team];
        if (breaks_order(program, move)) return;
        apply_move(program, move);
        const double new_duration =
            keeps_activation_limit(move.team) ? compute_duration(programs_, clock_) : never;
        if (new_duration <= duration_) {  // equally long programs may lead to shorter ones
            duration_ = new_duration;
        } else {
            apply_move(program, reverse_move(move));
        }
    }

    Move draw_move(std::uint64_t attempt) const {
        const RandomBlock draws = random_block(RandomKey{}.then("move"), attempt);
        const std::size_t team = draws[0] % programs_.size();
        const std::size_t size = programs_[team].size();
        if (size == 0) return {};  // from == to: no move
        const std::size_t from = draws[1] % size;
        const std::size_t distance = 1 + draws[2] % max_move_distance;
        const bool moves_later = draws[3] % 2 == 0;
        return {team, from,
                moves_later ? std::min(from + distance, size - 1) : from - std::min(from, distance)};
    }

    const std::vector<Program>& programs() const { return programs_; }
    double duration() const { return duration_; }

private:
    bool keeps_activation_limit(std::size_t team) const {
        return shape_.max_activations.empty() ||
               find_peak_activations(programs_[team]) <= shape_.max_activations[team];
    }

    std::vector<Program> programs_;
    const PipelineShape& shape_;
    ProgramClock& clock_;
    double duration_;
};

}  // namespace

std::vector<Program> improve_order(const std::vector<Program>& programs, const PipelineShape& shape,
                                   ProgramClock& clock, std::size_t attempts) {
    OrderSearch search(programs, shape, clock);
    const double initial_duration = search.duration();
    for (std::uint64_t attempt = 0; attempt < attempts; ++attempt) {
        const Move move = search.draw_move(attempt);
        if (move.from != move.to) search.try_move(move);
    }
    return search.duration() < initial_duration ? search.programs() : programs;
}

}  // namespace trireme::schedule
