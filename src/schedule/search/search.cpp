#include "trireme/schedule/search.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "schedule/programs/work_record.hpp"
#include "schedule/schedules/generators.hpp"
#include "schedule/search/join_halves.hpp"
#include "schedule/search/min_duration.hpp"
#include "schedule/search/order_search.hpp"
#include "schedule/search/rule_search.hpp"
#include "trireme/base/error.hpp"
#include "trireme/schedule/generate.hpp"

namespace trireme::schedule {
namespace {

// Limits of one part of the search. Each part takes a fraction of a second. A part ends when it reaches one of
// the two limits: max_instructions with long programs, max_attempts with short ones.
struct Effort {
    std::size_t max_instructions = 0;  // processed by all attempts together
    std::size_t max_attempts = 0;
};

constexpr Effort rule_search_effort{4'000'000, 1000};
constexpr Effort order_search_effort{12'000'000, 10'000};
constexpr Effort joining_effort{1'000'000, 1000};

std::size_t count_attempts(const Effort& effort, const PipelineShape& shape) {
    // Each micro-batch has a forward and two halves of a backward in each stage.
    const std::size_t instruction_count =
        3 * shape.holders.size() * static_cast<std::size_t>(shape.microbatches);
    return std::min(effort.max_instructions / instruction_count, effort.max_attempts);
}

// Programs that the search may return. The candidate with the shortest duration is the best. At equal duration,
// a smaller activation stash is better; if this is equal as well, fewer split backwards are better.
struct Candidate {
    std::vector<Program> programs;
    double duration = never;
    std::vector<int> peak_activations = {};  // per team, summed over its stages
    std::size_t split_backwards = 0;

    auto make_sort_key() const {
        return std::tuple(duration, std::accumulate(peak_activations.begin(), peak_activations.end(), 0L),
                          split_backwards);
    }
};

Candidate evaluate_candidate(std::vector<Program> programs, const PipelineShape& shape, ProgramClock& clock) {
    Candidate candidate{.programs = std::move(programs)};
    WorkRecord work_record(shape);
    for (int team = 0; team < shape.teams; ++team) {
        for (const Instruction& instruction : candidate.programs[static_cast<std::size_t>(team)]) {
            work_record.add(team, instruction);
            candidate.split_backwards += instruction.op == Op::backward_input ? 1 : 0;
        }
        candidate.peak_activations.push_back(work_record.peak_activations(team));
    }
    candidate.duration = compute_duration(candidate.programs, clock);
    return candidate;
}

bool keeps_activation_limits(const Candidate& candidate, const PipelineShape& shape) {
    for (std::size_t team = 0; team < shape.max_activations.size(); ++team) {
        if (candidate.peak_activations[team] > shape.max_activations[team]) return false;
    }
    return true;
}

bool splits_only_where_allowed(const std::vector<Program>& programs, const std::vector<bool>& may_split) {
    return std::all_of(programs.begin(), programs.end(), [&](const Program& program) {
        return std::all_of(program.begin(), program.end(), [&](const Instruction& instruction) {
            return instruction.op != Op::backward_input ||
                   may_split[static_cast<std::size_t>(instruction.stage)];
        });
    });
}

// Returns the programs of the schedule, or nothing if the schedule does not suit the shape or stashes weights.
std::optional<std::vector<Program>> generate_if_possible(const Schedule& schedule, const PipelineShape& shape) {
    if (schedule.stashes_weights || !find_schedule_obstacle(schedule, shape).empty()) return std::nullopt;
    return generate(schedule, shape);
}

void require_enough_memory(const PipelineShape& shape) {
    const std::vector<int> min_activations = compute_min_activations(shape);
    for (std::size_t team = 0; team < shape.max_activations.size(); ++team) {
        if (shape.max_activations[team] >= min_activations[team]) continue;
        throw ConfigError(cat("team ", team, " needs memory for ", min_activations[team],
                              " in-flight micro-batches, summed over its stages, but has memory for ",
                              shape.max_activations[team], "; give the team more memory or fewer stages"));
    }
}

// Returns programs without backwards. Prefers the first schedule of the catalog that suits the shape, because
// its forwards need few slots. If no schedule suits the shape, the list scheduler generates the programs.
std::vector<Program> make_forward_programs(const PipelineShape& shape, const std::vector<StageCost>& costs) {
    for (const Schedule& schedule : list_schedules()) {
        if (auto programs = generate_if_possible(schedule, shape)) return *std::move(programs);
    }
    const StageHoldings holdings(shape);
    const std::vector<bool> may_split(costs.size(), false);
    return ListScheduler(shape, holdings, costs, may_split)
        .make_programs({.teams = std::vector<TeamRule>(static_cast<std::size_t>(shape.teams))});
}

// True if all stages have the same number of replicas, and not every team holds all stages.
bool allows_speculative_updates(const PipelineShape& shape) {
    const std::size_t replicas = shape.holders.front().size();
    const bool has_equal_replica_counts = std::ranges::all_of(
        shape.holders, [&](const std::vector<int>& holders) { return holders.size() == replicas; });
    return has_equal_replica_counts && static_cast<std::size_t>(shape.teams) > replicas &&
           shape.first_trained_stage == 0;
}

}  // namespace

std::vector<int> compute_min_activations(const PipelineShape& shape) {
    std::vector<int> min_activations(static_cast<std::size_t>(shape.teams), 1);
    for (int m = 0; m < shape.microbatches; ++m) {
        std::vector<int> activations_of_microbatch(min_activations.size());  // per team
        for (int stage = 0; stage < shape.stages(); ++stage) {
            const auto team = static_cast<std::size_t>(shape.find_executor(stage, m));
            min_activations[team] = std::max(min_activations[team], ++activations_of_microbatch[team]);
        }
    }
    return min_activations;
}

std::vector<Program> search_programs(const PipelineShape& shape, const std::vector<StageCost>& costs,
                                     const std::vector<bool>& may_split) {
    if (!shape.is_training) return make_forward_programs(shape, costs);
    require_enough_memory(shape);
    const StageHoldings holdings(shape);
    ProgramClock clock(shape, holdings, costs);
    const double min_duration = compute_min_duration(shape, holdings, costs);
    RuleSearch rule_search(shape, holdings, costs, may_split);
    rule_search.search_rules(count_attempts(rule_search_effort, shape), min_duration);
    rule_search.reduce_memory();
    Candidate best = evaluate_candidate(rule_search.programs(), shape, clock);
    for (const Schedule& schedule : list_schedules()) {
        auto programs = generate_if_possible(schedule, shape);
        if (!programs || !splits_only_where_allowed(*programs, may_split)) continue;
        Candidate catalog_candidate = evaluate_candidate(*std::move(programs), shape, clock);
        if (keeps_activation_limits(catalog_candidate, shape) &&
            catalog_candidate.make_sort_key() <= best.make_sort_key())
            best = std::move(catalog_candidate);
    }
    if (best.duration > min_duration) {
        best.programs = improve_order(best.programs, shape, clock, count_attempts(order_search_effort, shape));
    }
    return join_halves(best.programs, clock, count_attempts(joining_effort, shape));
}

std::vector<Phases> make_speculative_programs(const std::vector<Program>& searched_programs,
                                              const PipelineShape& shape, const std::vector<bool>& may_split) {
    if (!shape.is_training || !allows_speculative_updates(shape)) return {};
    std::vector<Phases> candidates{make_updates_speculative(searched_programs, shape)};
    for (const Schedule& schedule : list_schedules()) {
        if (!apply_update_rule(schedule, shape).has_speculative_updates) continue;
        const auto programs = generate_if_possible(schedule, shape);
        if (!programs || !splits_only_where_allowed(*programs, may_split)) continue;
        candidates.push_back(make_updates_speculative(*programs, shape));
    }
    return candidates;
}

}  // namespace trireme::schedule
