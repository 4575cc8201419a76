#include "schedule/check/collective_order.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "schedule/programs/instruction_queries.hpp"
#include "trireme/base/error.hpp"

namespace trireme::schedule {
namespace {

struct Reduce {
    std::size_t position = 0;
    int stage = 0;
    int step = 0;

    std::pair<int, int> name() const { return {stage, step}; }
};

// Two reductions in the order in which a team does them.
struct Pair {
    int team = 0;
    Reduce first;
    Reduce second;
};

std::vector<Reduce> reduces_of(const Program& program) {
    std::vector<Reduce> reduces;
    std::map<int, int> steps;  // per stage, so far
    for (std::size_t position = 0; position < program.size(); ++position) {
        const int stage = program[position].stage;
        if (program[position].op == Op::reduce) reduces.push_back({position, stage, steps[stage]++});
    }
    return reduces;
}

Fault fault_of(const std::vector<Program>& programs, const Pair& one, const Pair& other) {
    return {other.team, other.first.position,
            cat("teams ", one.team, " and ", other.team, " hold stages ", one.first.stage, " and ",
                one.second.stage, " in common but reduce them in different orders: ",
                describe_position(programs, one.team, one.first.position), ", comes before ",
                to_string(Instruction{Op::reduce, one.second.stage}), ", but ",
                describe_position(programs, other.team, other.first.position), ", before ",
                to_string(Instruction{Op::reduce, other.second.stage}))};
}

}  // namespace

std::optional<Fault> unlike_order(const std::vector<Program>& programs) {
    using Name = std::pair<int, int>;
    std::map<std::pair<Name, Name>, Pair>
        known;  // by (lower name, higher name); from the first team that has both
    for (std::size_t team = 0; team < programs.size(); ++team) {
        const std::vector<Reduce> reduces = reduces_of(programs[team]);
        for (std::size_t late = 1; late < reduces.size(); ++late) {
            for (std::size_t early = 0; early < late; ++early) {
                const Pair pair = {static_cast<int>(team), reduces[early], reduces[late]};
                if (pair.first.stage == pair.second.stage) continue;  // these follow the order of the steps
                const auto [at, is_new] =
                    known.try_emplace(std::minmax({pair.first.name(), pair.second.name()}), pair);
                if (at->second.first.name() != pair.first.name()) return fault_of(programs, at->second, pair);
            }
        }
    }
    return std::nullopt;
}

}  // namespace trireme::schedule
