#include "schedule/search/joined_halves.hpp"

#include <iterator>
#include <utility>

namespace trireme::schedule {
namespace {

// The position of an input half that is followed by its weight half.
struct ProgramPosition {
    std::size_t team = 0;
    std::size_t position = 0;
};

bool are_halves(const Instruction& one, const Instruction& other) {
    return one.op == Op::backward_input && other.op == Op::backward_weight && one.stage == other.stage &&
           one.microbatch == other.microbatch;
}

// Returns the programs with whole backwards at the places, which ascend.
std::vector<Program> joined(const std::vector<Program>& programs, const std::vector<ProgramPosition>& places) {
    std::vector<Program> shorter(programs.size());
    auto next = places.begin();
    for (std::size_t team = 0; team < programs.size(); ++team) {
        for (std::size_t i = 0; i < programs[team].size(); ++i) {
            shorter[team].push_back(programs[team][i]);
            if (next == places.end() || next->team != team || next->position != i) continue;
            shorter[team].back().op = Op::backward;
            ++next;
            ++i;  // past the weight half
        }
    }
    return shorter;
}

class Joining {
public:
    Joining(const std::vector<Program>& programs, ProgramClock& clock, std::size_t attempts)
        : programs_(programs), clock_(clock), attempts_(attempts), duration_(duration_of(programs, clock)) {}

    // Joins all of the places, or if that is slower, tries each half of the list by itself. The places come
    // after those of earlier calls.
    void join(const std::vector<ProgramPosition>& places) {
        if (places.empty() || attempts_ == 0) return;
        --attempts_;
        std::vector<ProgramPosition> more = joined_;
        more.insert(more.end(), places.begin(), places.end());
        if (duration_of(joined(programs_, more), clock_) <= duration_) {
            joined_ = std::move(more);
        } else if (places.size() > 1) {
            const auto middle = std::next(places.begin(), static_cast<std::ptrdiff_t>(places.size() / 2));
            join({places.begin(), middle});
            join({middle, places.end()});
        }
    }

    std::vector<Program> programs() const { return joined(programs_, joined_); }

private:
    const std::vector<Program>& programs_;
    ProgramClock& clock_;
    std::size_t attempts_;
    double duration_;
    std::vector<ProgramPosition> joined_;
};

}  // namespace

std::vector<Program> with_joined_halves(const std::vector<Program>& programs, ProgramClock& clock,
                                        std::size_t attempts) {
    Joining joining(programs, clock, attempts);
    for (std::size_t team = 0; team < programs.size(); ++team) {
        std::vector<ProgramPosition> places;
        for (std::size_t i = 0; i + 1 < programs[team].size(); ++i) {
            if (are_halves(programs[team][i], programs[team][i + 1])) places.push_back({team, i});
        }
        joining.join(places);
    }
    return joining.programs();
}

}  // namespace trireme::schedule
