#include "trireme/setup/step_fitter.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"

namespace trireme::setup {
namespace {

// The blocks of a stage that need equal memory.
struct BlockKind {
    std::size_t kind = 0;                      // see stage::StepMemoryPlanner::block_kinds()
    std::vector<std::size_t> blocks = {};      // of the stage, ascending
    std::vector<plan::Recompute> levels = {};  // that save memory, ascending; first that of the plan
};

// Returns the recomputation of the plan, and each higher level with which a block stashes less than with all
// lower levels. Split backward passes exclude full recomputation.
std::vector<plan::Recompute> list_useful_levels(stage::StepMemoryPlanner& planner, std::size_t kind,
                                                plan::Recompute of_plan, const stage::BatchShape& shape,
                                                stage::BackwardPasses passes) {
    const auto count_stash = [&](plan::Recompute level) {
        return planner.predict_block(kind, level, shape, passes).peak.activations;
    };
    std::vector<plan::Recompute> levels{of_plan};
    for (const plan::Recompute level : {plan::Recompute::selective, plan::Recompute::full}) {
        if (level == plan::Recompute::full && passes != stage::BackwardPasses::whole) continue;
        if (level > of_plan && count_stash(level) < count_stash(levels.back())) levels.push_back(level);
    }
    return levels;
}

// Calls `visit` with every way to divide `blocks` blocks among `levels` levels, as numbers of blocks per level.
// Many blocks have at most two different levels.
template <class Visit>
void visit_divisions(std::size_t blocks, std::size_t levels, Visit&& visit) {
    constexpr std::size_t many_blocks = 8;
    std::vector<std::size_t> counts(levels);
    const auto divide = [&](auto&& self, std::size_t level, std::size_t left) -> void {
        if (level == 0) {
            counts[0] = left;
            const auto used = std::ranges::count_if(counts, [](std::size_t count) { return count > 0; });
            if (blocks <= many_blocks || used <= 2) visit(counts);
            return;
        }
        for (std::size_t count = 0; count <= left; ++count) {
            counts[level] = count;
            self(self, level - 1, left - count);
        }
    };
    divide(divide, levels - 1, blocks);
}

// Returns every combination of levels of a stage's blocks: of the blocks of a kind, the first ones have the
// highest levels.
std::vector<std::vector<plan::Recompute>> combine_levels(const std::vector<BlockKind>& kinds,
                                                         std::size_t blocks) {
    std::vector<std::vector<plan::Recompute>> all{std::vector<plan::Recompute>(blocks)};
    for (const BlockKind& kind : kinds) {
        std::vector<std::vector<plan::Recompute>> next;
        for (const std::vector<plan::Recompute>& begun : all) {
            visit_divisions(kind.blocks.size(), kind.levels.size(), [&](const auto& counts) {
                std::vector<plan::Recompute>& levels = next.emplace_back(begun);
                auto block = kind.blocks.begin();
                for (std::size_t level = counts.size(); level-- > 0;)
                    for (std::size_t i = 0; i < counts[level]; ++i) levels[*block++] = kind.levels[level];
            });
        }
        all = std::move(next);
    }
    return all;
}

// Returns costs in whole nanoseconds, so that all ranks compare equal numbers.
schedule::StageCost round_to_nanoseconds(schedule::StageCost cost) {
    for (double schedule::StageCost::*part :
         {&schedule::StageCost::forward, &schedule::StageCost::backward_input,
          &schedule::StageCost::backward_weight, &schedule::StageCost::send, &schedule::StageCost::reduce,
          &schedule::StageCost::step})
        cost.*part = std::round(1e9 * cost.*part);
    return cost;
}

bool needs_no_less(const policy::PassOption& option, const policy::PassOption& other) {
    for (std::size_t rank = 0; rank < option.bytes.size(); ++rank) {
        const policy::PassBytes& bytes = option.bytes[rank];
        const policy::PassBytes& least = other.bytes[rank];
        if (bytes.stash < least.stash) return false;
        for (std::size_t op = 0; op < bytes.workspaces.size(); ++op)
            if (bytes.workspaces[op] < least.workspaces[op]) return false;
    }
    return true;
}

// Sorts the options by time. Removes options that take no less time and no less memory than another option.
// The first option stays the first.
std::vector<policy::PassOption> remove_inferior(std::vector<policy::PassOption> options) {
    std::ranges::stable_sort(options.begin() + 1, options.end(), {},
                             [](const policy::PassOption& option) { return option.extra.compute_pass_time(); });
    std::vector<policy::PassOption> kept;
    for (policy::PassOption& option : options) {
        const auto is_inferior = [&](const policy::PassOption& other) { return needs_no_less(option, other); };
        if (std::ranges::none_of(kept, is_inferior)) kept.push_back(std::move(option));
    }
    return kept;
}

}  // namespace

StepFitter::StepFitter(const PricedPlan& priced, StepCostPredictor& costs, StepBytes& bytes,
                       const std::vector<std::size_t>& limits, FitMeans means)
    : priced_(priced),
      costs_(costs),
      bytes_(bytes),
      limits_(limits),
      means_(std::move(means)),
      clock_(priced.plan.training.phases(), priced.plan.training.shape) {}

// Returns the useful combinations of levels of the stage's blocks. The first one is that of the plan.
std::vector<policy::PassOption> StepFitter::list_pass_options(const TeamMemory& team, std::size_t stage_index,
                                                              std::size_t microbatch,
                                                              const plan::MicrobatchShape& counts,
                                                              const stage::BatchShape& shape,
                                                              stage::BackwardPasses passes) {
    const auto stage =
        static_cast<std::size_t>(priced_.plan.teams[static_cast<std::size_t>(team.team)].stages[stage_index]);
    stage::StepMemoryPlanner& planner = bytes_.find_planner(team.ranks.front().class_index);
    const std::vector<std::size_t>& kind_of_block = planner.block_kinds(stage_index);
    const plan::Recompute of_plan = priced_.plan.recompute[stage];
    std::vector<BlockKind> kinds;
    std::map<std::pair<std::size_t, plan::Recompute>, schedule::StageCost> extras;  // by kind and level
    for (std::size_t b = 0; b < kind_of_block.size(); ++b) {
        const auto known = std::ranges::find(kinds, kind_of_block[b], &BlockKind::kind);
        if (known != kinds.end()) {
            known->blocks.push_back(b);
            continue;
        }
        const std::vector<plan::Recompute> levels =
            means_.may_recompute ? list_useful_levels(planner, kind_of_block[b], of_plan, shape, passes)
                                 : std::vector<plan::Recompute>{of_plan};
        for (const plan::Recompute level : levels)
            extras[{kind_of_block[b], level}] =
                round_to_nanoseconds(costs_.predict_extra(stage, microbatch, b, level, counts));
        kinds.push_back({.kind = kind_of_block[b], .blocks = {b}, .levels = levels});
    }
    std::vector<policy::PassOption> options;
    for (std::vector<plan::Recompute>& levels : combine_levels(kinds, kind_of_block.size())) {
        policy::PassOption& option = options.emplace_back();
        for (std::size_t b = 0; b < levels.size(); ++b) {
            const schedule::StageCost& extra = extras[{kind_of_block[b], levels[b]}];
            option.extra.forward += extra.forward;
            option.extra.backward_input += extra.backward_input;
            option.extra.backward_weight += extra.backward_weight;
        }
        for (const TeamMemory::Rank& rank : team.ranks) {
            const stage::TrainingMemory memory =
                bytes_.find_planner(rank.class_index).predict_stage(stage_index, shape, passes, levels);
            policy::PassBytes& bytes = option.bytes.emplace_back(memory.peak.activations);
            for (std::size_t op = 0; op < memory.workspaces.size(); ++op)
                bytes.workspaces[op] = memory.workspaces[op].count_workspace_bytes();
        }
        option.levels = std::move(levels);
    }
    return remove_inferior(std::move(options));
}

std::vector<policy::TeamOptions> StepFitter::list_options(
    const std::vector<plan::MicrobatchShape>& microbatches, const std::vector<stage::BatchShape>& shapes,
    const std::vector<std::size_t>& teams) {
    const schedule::PipelineShape& shape = priced_.plan.training.shape;
    std::vector<policy::TeamOptions> options;
    for (const std::size_t t : teams) {
        const TeamMemory& team = bytes_.teams()[t];
        policy::TeamOptions& team_options = options.emplace_back();
        team_options.team = team.team;
        team_options.uses =
            list_buffer_uses(team.program, team.team, shape, find_empty_microbatches(microbatches));
        for (schedule::BufferUse& use : team_options.uses) use.taker.microbatch %= shape.microbatches;
        for (const TeamMemory::Rank& rank : team.ranks) {
            const std::size_t limit = limits_[static_cast<std::size_t>(rank.rank)];
            team_options.max_bytes.push_back(
                std::min(rank.max_step_bytes, limit - std::min(limit, rank.constant_bytes)));
            if (!means_.offload_seconds_per_byte.empty()) {
                team_options.offloadable_bytes.push_back(rank.offloadable_bytes);
                team_options.offload_time_per_byte =
                    std::max(team_options.offload_time_per_byte,
                             1e9 * means_.offload_seconds_per_byte[static_cast<std::size_t>(rank.rank)]);
            }
            std::vector<std::size_t>& row_bytes = team_options.row_bytes.emplace_back();
            for (const stage::BatchShape& batch : shapes)
                row_bytes.push_back(bytes_.find_planner(rank.class_index).count_row_bytes(batch));
        }
        const stage::BackwardPasses passes = stage::find_backward_passes(team.program);
        const std::vector<int>& stages = priced_.plan.teams[t].stages;
        for (std::size_t s = 0; s < stages.size(); ++s) {
            std::map<plan::MicrobatchShape, std::vector<policy::PassOption>> known;
            for (std::size_t m = 0; m < microbatches.size(); ++m) {
                if (microbatches[m].rows == 0 ||
                    shape.find_executor(stages[s], static_cast<int>(m)) != team.team)
                    continue;
                const auto [list, is_new] = known.try_emplace(microbatches[m]);
                if (is_new) list->second = list_pass_options(team, s, m, microbatches[m], shapes[m], passes);
                team_options.passes[{stages[s], static_cast<int>(m)}] = list->second;
            }
        }
    }
    return options;
}

const StepFit& StepFitter::fit(const std::vector<plan::MicrobatchShape>& microbatches) {
    constexpr std::size_t max_known_fits = 64;
    if (const auto known = known_fits_.find(microbatches); known != known_fits_.end()) return known->second;
    if (known_fits_.size() == max_known_fits) known_fits_.clear();
    const std::vector<std::vector<std::size_t>> needs = bytes_.predict_bytes(microbatches);
    std::vector<std::size_t> teams;  // with a rank that exceeds its limit
    // The rank that needs the most bytes compared with its limit.
    std::size_t fullest_team = 0;
    std::size_t fullest_rank = 0;
    const auto find_limit = [&](std::size_t team, std::size_t rank) {
        return limits_[static_cast<std::size_t>(bytes_.teams()[team].ranks[rank].rank)];
    };
    const auto compute_excess = [&](std::size_t team, std::size_t rank) {
        return static_cast<std::int64_t>(needs[team][rank]) - static_cast<std::int64_t>(find_limit(team, rank));
    };
    for (std::size_t team = 0; team < needs.size(); ++team) {
        bool exceeds_limit = false;
        for (std::size_t rank = 0; rank < needs[team].size(); ++rank) {
            const std::int64_t excess = compute_excess(team, rank);
            exceeds_limit = exceeds_limit || excess > 0;
            if (excess <= compute_excess(fullest_team, fullest_rank)) continue;
            fullest_team = team;
            fullest_rank = rank;
        }
        if (exceeds_limit) teams.push_back(team);
    }
    const std::size_t need = needs[fullest_team][fullest_rank];
    const std::size_t limit = find_limit(fullest_team, fullest_rank);
    StepFit fit{.predicted_bytes = need, .limit_bytes = limit, .deficit_bytes = need - std::min(need, limit)};
    if (!teams.empty()) {
        std::vector<stage::BatchShape> shapes;
        for (const plan::MicrobatchShape& counts : microbatches) shapes.push_back(make_any_shape(counts));
        const std::vector<policy::TeamOptions> options = list_options(microbatches, shapes, teams);
        std::vector<std::vector<schedule::StageCost>> costs = costs_.predict_costs(microbatches);
        for (std::vector<schedule::StageCost>& of_stage : costs)
            std::ranges::transform(of_stage, of_stage.begin(), round_to_nanoseconds);
        const auto choices =
            choose_recomputation(options, costs, find_empty_microbatches(microbatches), clock_);
        if (!choices) {
            throw ConfigError(cat("rank ", bytes_.teams()[fullest_team].ranks[fullest_rank].rank, " needs ",
                                  format_with_commas(need),
                                  " bytes in a step, and --elastic length cannot lower this to its limit of ",
                                  format_with_commas(limit), " bytes; raise --memory-limit"));
        }
        fit.levels.resize(microbatches.size());
        for (std::size_t t = 0; t < teams.size(); ++t) {
            for (const auto& [key, option] : choices->teams[t]) {
                if (option == 0) continue;
                plan::MicrobatchLevels& levels = fit.levels[static_cast<std::size_t>(key.second)];
                levels.resize(priced_.plan.layout.stages.size());
                levels[static_cast<std::size_t>(key.first)] = options[t].passes.at(key)[option].levels;
            }
        }
        const std::vector<std::vector<std::size_t>> fitted = bytes_.predict_bytes(microbatches, fit.levels);
        // Returns the bytes of buffers in the place of optimizer state.
        const auto count_offloaded = [&](std::size_t team, std::size_t rank) {
            const TeamMemory::Rank& memory = bytes_.teams()[team].ranks[rank];
            return fitted[team][rank] -
                   std::min(fitted[team][rank], memory.constant_bytes + memory.max_step_bytes);
        };
        for (const std::size_t team : teams)
            for (std::size_t rank = 0; rank < fitted[team].size(); ++rank)
                fit.offloads_state = fit.offloads_state || count_offloaded(team, rank) > 0;
        fit.offload_seconds = 1e-9 * choices->offload_wait;
        fit.offloaded_bytes = count_offloaded(fullest_team, fullest_rank);
        fit.recomputed_bytes = need - std::min(need, fitted[fullest_team][fullest_rank]);
        fit.predicted_bytes = fitted[fullest_team][fullest_rank] - fit.offloaded_bytes;
    }
    return known_fits_[microbatches] = std::move(fit);
}

}  // namespace trireme::setup
