#include "schedule/check/collective_order.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "schedule/programs/instruction_queries.hpp"
#include "trireme/base/error.hpp"

namespace trireme::schedule {
namespace {

// A REDUCE of a program.
struct Reduce {
    std::size_t position = 0;  // in the program
    int stage = 0;
    int step = 0;

    // Equal for the REDUCEs of all teams that sum the same gradients.
    std::pair<int, int> key() const { return {stage, step}; }
};

// Two REDUCEs of a team, in the order of its program.
struct ReducePair {
    int team = 0;
    Reduce first;
    Reduce second;
};

std::vector<Reduce> list_reduces(const Program& program) {
    std::vector<Reduce> reduces;
    std::map<int, int> next_steps;  // per stage: the step of the next REDUCE
    for (std::size_t position = 0; position < program.size(); ++position) {
        const int stage = program[position].stage;
        if (program[position].op == Op::reduce) reduces.push_back({position, stage, next_steps[stage]++});
    }
    return reduces;
}

Fault describe_fault(const std::vector<Program>& programs, const ReducePair& pair,
                     const ReducePair& other_pair) {
    return {other_pair.team, other_pair.first.position,
            cat("teams ", pair.team, " and ", other_pair.team, " hold stages ", pair.first.stage, " and ",
                pair.second.stage, " in common but reduce them in different orders: ",
                describe_position(programs, pair.team, pair.first.position), ", comes before ",
                to_string(Instruction{Op::reduce, pair.second.stage}), ", but ",
                describe_position(programs, other_pair.team, other_pair.first.position), ", comes before ",
                to_string(Instruction{Op::reduce, other_pair.second.stage}))};
}

}  // namespace

std::optional<Fault> find_order_conflict(const std::vector<Program>& programs) {
    using ReduceKey = std::pair<int, int>;
    // The key consists of the lower and the higher key() of two REDUCEs. The value has the two REDUCEs in the
    // order of the first program that contains both.
    std::map<std::pair<ReduceKey, ReduceKey>, ReducePair> first_pairs;
    for (std::size_t team = 0; team < programs.size(); ++team) {
        const std::vector<Reduce> reduces = list_reduces(programs[team]);
        for (std::size_t second = 1; second < reduces.size(); ++second) {
            for (std::size_t first = 0; first < second; ++first) {
                const ReducePair pair = {static_cast<int>(team), reduces[first], reduces[second]};
                if (pair.first.stage == pair.second.stage)
                    continue;  // REDUCEs of one stage always follow the order of the steps
                const auto [entry, is_new] =
                    first_pairs.try_emplace(std::minmax({pair.first.key(), pair.second.key()}), pair);
                if (entry->second.first.key() != pair.first.key())
                    return describe_fault(programs, entry->second, pair);
            }
        }
    }
    return std::nullopt;
}

}  // namespace trireme::schedule
