#include "trireme/schedule/search.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "schedule/programs/work_record.hpp"
#include "schedule/schedules/generators.hpp"
#include "schedule/search/joined_halves.hpp"
#include "schedule/search/least_duration.hpp"
#include "schedule/search/order_search.hpp"
#include "schedule/search/rule_search.hpp"
#include "trireme/base/error.hpp"
#include "trireme/schedule/generate.hpp"

namespace trireme::schedule {
namespace {

// A limit on attempts: the instructions that they process in total (a fraction of a second), and their number,
// which matters if programs are short.
struct Effort {
    std::size_t instructions = 0;
    std::size_t most = 0;
};

constexpr Effort for_rules{4'000'000, 1000};
constexpr Effort for_moves{12'000'000, 10'000};
constexpr Effort for_joining{1'000'000, 1000};

std::size_t attempts(const Effort& effort, const PipelineShape& shape) {
    const std::size_t length = 3 * shape.holders.size() * static_cast<std::size_t>(shape.microbatches);
    return std::min(effort.instructions / length, effort.most);
}

// A candidate of the search. Of equally short ones those that keep less are better, then those that split fewer
// backwards.
struct Contender {
    std::vector<Program> programs;
    double duration = never;
    std::vector<int> kept = {};  // per team: most activations
    std::size_t halves = 0;

    auto merit() const { return std::tuple(duration, std::accumulate(kept.begin(), kept.end(), 0L), halves); }
};

Contender weighed(std::vector<Program> programs, const PipelineShape& shape, ProgramClock& clock) {
    Contender contender{.programs = std::move(programs)};
    WorkRecord done(shape);
    for (int team = 0; team < shape.teams; ++team) {
        for (const Instruction& instruction : contender.programs[static_cast<std::size_t>(team)]) {
            done.add(team, instruction);
            contender.halves += instruction.op == Op::backward_input ? 1 : 0;
        }
        contender.kept.push_back(done.most_kept(team));
    }
    contender.duration = duration_of(contender.programs, clock);
    return contender;
}

bool keeps_to_bounds(const Contender& contender, const PipelineShape& shape) {
    for (std::size_t team = 0; team < shape.most_activations.size(); ++team) {
        if (contender.kept[team] > shape.most_activations[team]) return false;
    }
    return true;
}

bool splits_only_where_allowed(const std::vector<Program>& programs, const std::vector<bool>& may_split) {
    return std::all_of(programs.begin(), programs.end(), [&](const Program& program) {
        return std::all_of(program.begin(), program.end(), [&](const Instruction& each) {
            return each.op != Op::backward_input || may_split[static_cast<std::size_t>(each.stage)];
        });
    });
}

// Returns nothing if the schedule does not take the shape, or leaves work for the next step.
std::optional<std::vector<Program>> generated(const Schedule& schedule, const PipelineShape& shape) {
    if (schedule.keeps_old_weights || !obstacle_to(schedule, shape).empty()) return std::nullopt;
    return generate(schedule, shape);
}

void require_enough_memory(const PipelineShape& shape) {
    const std::vector<int> least = least_activations(shape);
    for (std::size_t team = 0; team < shape.most_activations.size(); ++team) {
        if (shape.most_activations[team] >= least[team]) continue;
        throw ConfigError(cat("team ", team, " has to keep ", least[team],
                              " micro-batches, counted over its stages, and has memory for ",
                              shape.most_activations[team], "; give it more memory, or fewer stages"));
    }
}

// Returns the forwards of the first schedule that takes the shape, because these need few slots. If there is
// none, they are made by a rule.
std::vector<Program> forwards(const PipelineShape& shape, const std::vector<StageCost>& costs) {
    for (const Schedule& schedule : schedules()) {
        if (auto programs = generated(schedule, shape)) return *std::move(programs);
    }
    const StageHoldings holdings(shape);
    const std::vector<bool> whole(costs.size(), false);
    return ListScheduler(shape, holdings, costs, whole)
        .programs({.teams = std::vector<TeamRule>(static_cast<std::size_t>(shape.teams))});
}

bool has_equal_rows(const PipelineShape& shape) {
    const std::size_t rows = shape.holders.front().size();
    const bool are_held_by_all = std::ranges::all_of(
        shape.holders, [&](const std::vector<int>& holders) { return holders.size() == rows; });
    return are_held_by_all && static_cast<std::size_t>(shape.teams) > rows;
}

}  // namespace

std::vector<int> least_activations(const PipelineShape& shape) {
    std::vector<int> least(static_cast<std::size_t>(shape.teams), 1);
    for (int m = 0; m < shape.microbatches; ++m) {
        std::vector<int> of_this(least.size());
        for (int stage = 0; stage < shape.stages(); ++stage) {
            const auto team = static_cast<std::size_t>(shape.executor_of(stage, m));
            least[team] = std::max(least[team], ++of_this[team]);
        }
    }
    return least;
}

std::vector<Program> search_programs(const PipelineShape& shape, const std::vector<StageCost>& costs,
                                     const std::vector<bool>& may_split) {
    if (!shape.is_training) return forwards(shape, costs);
    require_enough_memory(shape);
    const StageHoldings holdings(shape);
    ProgramClock clock(shape, holdings, costs);
    const double least = least_duration(shape, holdings, costs);
    RuleSearch search(shape, holdings, costs, may_split);
    search.look(attempts(for_rules, shape), least);
    search.make_lean();
    Contender best = weighed(search.programs(), shape, clock);
    for (const Schedule& schedule : schedules()) {
        auto programs = generated(schedule, shape);
        if (!programs || !splits_only_where_allowed(*programs, may_split)) continue;
        Contender other = weighed(*std::move(programs), shape, clock);
        if (keeps_to_bounds(other, shape) && other.merit() <= best.merit()) best = std::move(other);
    }
    if (best.duration > least) {
        best.programs = with_moved_work(best.programs, shape, clock, attempts(for_moves, shape));
    }
    return with_joined_halves(best.programs, clock, attempts(for_joining, shape));
}

std::vector<Phases> programs_ahead(const std::vector<Program>& found, const PipelineShape& shape,
                                   const std::vector<bool>& may_split) {
    if (!shape.is_training || !has_equal_rows(shape)) return {};
    std::vector<Phases> all{with_validated_updates(found, shape)};
    for (const Schedule& schedule : schedules()) {
        if (!with_updates_of(schedule, shape).validates) continue;
        const auto programs = generated(schedule, shape);
        if (!programs || !splits_only_where_allowed(*programs, may_split)) continue;
        all.push_back(with_validated_updates(*programs, shape));
    }
    return all;
}

}  // namespace trireme::schedule
