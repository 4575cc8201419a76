#include "trireme/layout/pipedream.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "layout/group_plan.hpp"
#include "trireme/base/error.hpp"

namespace trireme::layout {
namespace {

constexpr int max_ranks = 1024;  // keeps the tables small and the search short

class Planner {
public:
    explicit Planner(const SharingTask& task) : task_(task) {}

    PipedreamPlan plan() {
        const std::size_t top = task_.levels.size() - 1;
        const Range all{0, task_.loads.layers()};
        const double seconds = find_plan(top, {}).best(all, task_.levels[top].subgroups).seconds;
        if (seconds == infinite_seconds) throw_limit_exceeded();
        Layout layout{.layers = all.count, .stages = {}};
        for (const Stage& stage : collect_stages(top, all, {})) {
            StageLayout& held = layout.stages.emplace_back(StageLayout{.layers = stage.layers});
            for (const int rank : stage.ranks) held.replicas.push_back({.ranks = {rank}, .shares = {1}});
        }
        return {.layout = std::move(layout), .seconds = seconds};
    }

private:
    struct Stage {
        Range layers;
        std::vector<int> ranks;  // relative to the group's first rank
    };
    struct Key {
        std::size_t level = 0;
        GroupPosition group = {};
        friend auto operator<=>(const Key&, const Key&) = default;
    };
    struct Entry {
        GroupPlan::SubgroupPlans subgroup_plans;
        std::optional<GroupPlan> plan;
    };

    const GroupPlan& find_plan(std::size_t level, const GroupPosition& group) {
        const auto [at, is_new] = entries_.try_emplace({level, group});
        Entry& entry = at->second;
        if (is_new) {
            if (level > 0) entry.subgroup_plans = find_subgroup_plans(level, group);
            entry.plan.emplace(task_, level, group, entry.subgroup_plans);
        }
        return *entry.plan;
    }

    GroupPlan::SubgroupPlans find_subgroup_plans(std::size_t level, const GroupPosition& group) {
        GroupPlan::SubgroupPlans subgroup_plans;
        for (int end = 1; end <= task_.levels[level].subgroups; ++end) {
            auto& plans_per_count = subgroup_plans.emplace_back();
            for (int count = 1; count <= end; ++count) {
                plans_per_count.push_back(
                    &find_plan(level - 1, find_subgroup_position(task_, level, group, {end, count})));
            }
        }
        return subgroup_plans;
    }

    // Returns the stages into which a group at `level` and position `group` cuts `run`, the layers that it
    // holds. Follows the best choices from the last layers to the first.
    std::vector<Stage> collect_stages(std::size_t level, Range run, const GroupPosition& group) {
        std::vector<Stage> stages;
        SubgroupRun subgroups{.end = task_.levels[level].subgroups};
        while (run.count > 0) {
            const GroupPlan::Choice choice = find_plan(level, group).best(run, subgroups.end);
            subgroups.count = choice.last_count;
            const Range held{choice.last_begin, run.end() - choice.last_begin};
            std::vector<Stage> last = collect_subgroup_stages(level, held, group, subgroups);
            stages.insert(stages.begin(), last.begin(), last.end());
            run.count = choice.last_begin - run.begin;
            subgroups.end -= subgroups.count;
        }
        return stages;
    }

    // Returns the stages into which `subgroups` cut `run`, the layers that each of them holds. The replicas of
    // a stage alternate between the subgroups, so that a micro-batch stays in one subgroup for all stages.
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
        throw ConfigError(cat("no way to share ", task_.loads.layers(), " layers among ", task_.rules.ranks,
                              " ranks keeps each within ", task_.rules.memory_limit,
                              " bytes; raise --memory-limit, or use more ranks, smaller micro-batches or "
                              "--recompute full"));
    }

    const SharingTask& task_;
    std::map<Key, Entry> entries_;  // the plans that have been computed
};

}  // namespace

PipedreamPlan plan_pipedream_layout(const std::vector<LayerLoad>& layers, const PipedreamRules& rules) {
    if (rules.ranks > max_ranks) {
        throw ConfigError(cat("--partition pipedream shares layers among up to ", max_ranks, " ranks, not ",
                              rules.ranks, "; use a grid, or a layout file"));
    }
    const SharingTask task{
        .loads = RunLoads(layers), .rules = rules, .levels = make_group_levels(rules.links, rules.ranks)};
    return Planner(task).plan();
}

}  // namespace trireme::layout
