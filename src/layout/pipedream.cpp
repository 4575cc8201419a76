#include "trireme/layout/pipedream.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "layout/group_plan.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"

namespace trireme::layout {
namespace {

constexpr int max_ranks = 1024;  // keeps the tables small and the search short

// Plans groups of ranks on demand, from the group of all ranks to the smallest groups, and assembles the stages
// of the best plan.
class Planner {
public:
    explicit Planner(const SharingTask& task) : task_(task) {}

    PipedreamPlan plan() {
        const std::size_t top_level = task_.levels.size() - 1;
        const Range all_layers{0, task_.loads.layers()};
        const double seconds =
            find_plan(top_level, {}).best(all_layers, task_.levels[top_level].subgroups).seconds;
        if (seconds == infinite_seconds) throw_limit_exceeded();
        Layout layout{.layers = all_layers.count, .stages = {}};
        for (const Stage& stage : collect_stages(top_level, all_layers, {})) {
            StageLayout& stage_layout = layout.stages.emplace_back(StageLayout{.layers = stage.layers});
            for (const int rank : stage.ranks)
                stage_layout.replicas.push_back({.ranks = {rank}, .shares = {1}});
        }
        return {.layout = std::move(layout), .seconds = seconds};
    }

private:
    struct Stage {
        Range layers;
        std::vector<int> ranks;  // one per replica, relative to the first rank of the group that is planned
    };
    struct GroupKey {
        std::size_t level = 0;
        GroupPosition group = {};
        friend auto operator<=>(const GroupKey&, const GroupKey&) = default;
    };
    struct PlannedGroup {
        GroupPlan::SubgroupPlans subgroup_plans;  // `plan` has a reference to these
        std::optional<GroupPlan> plan;
    };

    const GroupPlan& find_plan(std::size_t level, const GroupPosition& group) {
        const auto [entry, is_new] = planned_groups_.try_emplace({level, group});
        PlannedGroup& planned = entry->second;
        if (is_new) {
            if (level > 0) planned.subgroup_plans = find_subgroup_plans(level, group);
            planned.plan.emplace(task_, level, group, planned.subgroup_plans);
        }
        return *planned.plan;
    }

    GroupPlan::SubgroupPlans find_subgroup_plans(std::size_t level, const GroupPosition& group) {
        GroupPlan::SubgroupPlans subgroup_plans;
        for (int end = 1; end <= task_.levels[level].subgroups; ++end) {
            auto& plans_by_count = subgroup_plans.emplace_back();
            for (int count = 1; count <= end; ++count) {
                plans_by_count.push_back(
                    &find_plan(level - 1, find_subgroup_position(task_, level, group, {end, count})));
            }
        }
        return subgroup_plans;
    }

    // Returns the stages into which the group at `level` and position `group` cuts its layers `run`. Follows
    // the best choices from the last layers to the first.
    std::vector<Stage> collect_stages(std::size_t level, Range run, const GroupPosition& group) {
        std::vector<Stage> stages;
        SubgroupRun subgroups{.end = task_.levels[level].subgroups};
        while (run.count > 0) {
            const GroupPlan::Choice choice = find_plan(level, group).best(run, subgroups.end);
            subgroups.count = choice.last_count;
            const Range last_layers{choice.last_begin, run.end() - choice.last_begin};
            const std::vector<Stage> last_stages =
                collect_subgroup_stages(level, last_layers, group, subgroups);
            stages.insert(stages.begin(), last_stages.begin(), last_stages.end());
            run.count = choice.last_begin - run.begin;
            subgroups.end -= subgroups.count;
        }
        return stages;
    }

    // Returns the stages into which `subgroups`, which all hold the layers `run`, cut this run. `level` and
    // `group` are the level and the position of the group that contains `subgroups`. The replicas of a stage
    // alternate between the subgroups, so that a micro-batch stays in one subgroup for all stages.
    std::vector<Stage> collect_subgroup_stages(std::size_t level, Range run, const GroupPosition& group,
                                               const SubgroupRun& subgroups) {
        std::vector<Stage> stages{{.layers = run, .ranks = {0}}};
        if (level > 0)
            stages = collect_stages(level - 1, run, find_subgroup_position(task_, level, group, subgroups));
        for (Stage& stage : stages) {
            std::vector<int> ranks;
            for (const int rank : stage.ranks) {
                for (int subgroup = subgroups.end - subgroups.count; subgroup < subgroups.end; ++subgroup) {
                    ranks.push_back(subgroup * task_.levels[level].ranks_per_subgroup + rank);
                }
            }
            stage.ranks = std::move(ranks);
        }
        return stages;
    }

    [[noreturn]] void throw_limit_exceeded() const {
        throw ConfigError(cat("--partition pipedream finds no way to divide ", task_.loads.layers(),
                              " layers among ",
                              format_count(static_cast<std::size_t>(task_.rules.ranks), "rank"),
                              " that keeps every rank within --memory-limit (", task_.rules.memory_limit,
                              " bytes); raise the limit, or use more ranks, smaller micro-batches or "
                              "--recompute full"));
    }

    const SharingTask& task_;
    std::map<GroupKey, PlannedGroup> planned_groups_;
};

}  // namespace

PipedreamPlan plan_pipedream_layout(const std::vector<LayerLoad>& layers, const PipedreamRules& rules) {
    if (rules.ranks > max_ranks) {
        throw ConfigError(cat("--partition pipedream divides layers among at most ", max_ranks, " ranks, not ",
                              rules.ranks, "; use another --partition, or --layout FILE"));
    }
    const SharingTask task{
        .loads = RunLoads(layers), .rules = rules, .levels = make_group_levels(rules.links, rules.ranks)};
    return Planner(task).plan();
}

}  // namespace trireme::layout
