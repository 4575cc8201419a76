#include "schedule/search/join_halves.hpp"

#include <iterator>
#include <utility>

namespace trireme::schedule {
namespace {

// The position of an input half that is directly followed by its weight half.
struct HalvesPosition {
    std::size_t team = 0;
    std::size_t index = 0;  // of the input half in the program of `team`
};

bool are_matching_halves(const Instruction& first, const Instruction& second) {
    return first.op == Op::backward_input && second.op == Op::backward_weight && first.stage == second.stage &&
           first.microbatch == second.microbatch;
}

// Returns the programs with unsplit backwards at the positions, which must ascend by team and index.
std::vector<Program> join_at(const std::vector<Program>& programs,
                             const std::vector<HalvesPosition>& positions) {
    std::vector<Program> joined_programs(programs.size());
    auto next_position = positions.begin();
    for (std::size_t team = 0; team < programs.size(); ++team) {
        for (std::size_t i = 0; i < programs[team].size(); ++i) {
            joined_programs[team].push_back(programs[team][i]);
            if (next_position == positions.end() || next_position->team != team || next_position->index != i)
                continue;
            joined_programs[team].back().op = Op::backward;
            ++next_position;
            ++i;  // skips the weight half
        }
    }
    return joined_programs;
}

class HalfJoiner {
public:
    HalfJoiner(const std::vector<Program>& programs, ProgramClock& clock, std::size_t attempts)
        : programs_(programs),
          clock_(clock),
          remaining_attempts_(attempts),
          duration_(compute_duration(programs, clock)) {}

    // Joins the halves at all `positions`. If this increases the duration, tries the first and the second part
    // of `positions` separately instead. `positions` must follow all positions of earlier calls. No-op if all
    // attempts are used.
    void try_join(const std::vector<HalvesPosition>& positions) {
        if (positions.empty() || remaining_attempts_ == 0) return;
        --remaining_attempts_;
        std::vector<HalvesPosition> tried_positions = joined_positions_;
        tried_positions.insert(tried_positions.end(), positions.begin(), positions.end());
        if (compute_duration(join_at(programs_, tried_positions), clock_) <= duration_) {
            joined_positions_ = std::move(tried_positions);
        } else if (positions.size() > 1) {
            const auto middle = std::next(positions.begin(), static_cast<std::ptrdiff_t>(positions.size() / 2));
            try_join({positions.begin(), middle});
            try_join({middle, positions.end()});
        }
    }

    std::vector<Program> make_programs() const { return join_at(programs_, joined_positions_); }

private:
    const std::vector<Program>& programs_;
    ProgramClock& clock_;
    std::size_t remaining_attempts_;
    double duration_;  // of programs_
    std::vector<HalvesPosition> joined_positions_;
};

}  // namespace

std::vector<Program> join_halves(const std::vector<Program>& programs, ProgramClock& clock,
                                 std::size_t attempts) {
    HalfJoiner joiner(programs, clock, attempts);
    for (std::size_t team = 0; team < programs.size(); ++team) {
        std::vector<HalvesPosition> positions;
        for (std::size_t i = 0; i + 1 < programs[team].size(); ++i) {
            if (are_matching_halves(programs[team][i], programs[team][i + 1])) positions.push_back({team, i});
        }
        joiner.try_join(positions);
    }
    return joiner.make_programs();
}

}  // namespace trireme::schedule
