#include "layout/group_plan.hpp"

#include <algorithm>

#include "trireme/base/error.hpp"

namespace trireme::layout {
namespace {

int divide_rounding_up(int number, int divisor) { return (number + divisor - 1) / divisor; }

// Returns true if a rank with the load `load` at the position `rank` stays within the memory limit.
bool fits_in_memory(const LayerLoad& load, const GroupPosition& rank, const PipedreamRules& rules) {
    if (rules.memory_limit == 0) return true;
    const auto waiting_microbatches =
        static_cast<std::size_t>(divide_rounding_up(rank.ranks_after, rank.copies));
    const std::size_t weight_version_bytes = rules.stashes_weights ? load.parameter_bytes : 0;
    const std::size_t base_bytes = load.state_bytes + load.workspace_bytes + load.activation_bytes;
    return base_bytes + waiting_microbatches * (load.activation_bytes + weight_version_bytes) <=
           rules.memory_limit;
}

}  // namespace

RunLoads::RunLoads(const std::vector<LayerLoad>& layers) {
    for (std::size_t begin = 0; begin < layers.size(); ++begin) {
        std::vector<LayerLoad>& runs = loads_.emplace_back();
        runs.push_back(layers[begin]);
        for (std::size_t layer = begin + 1; layer < layers.size(); ++layer)
            runs.push_back(merge_loads(runs.back(), layers[layer]));
    }
}

std::vector<GroupLevel> make_group_levels(const std::vector<LinkLevel>& links, int ranks) {
    std::vector<GroupLevel> levels;
    int ranks_per_group = 1;  // ranks per group of the previous level
    for (const LinkLevel& level : links) {
        const int group_ranks = level.ranks == 0 ? ranks : std::min(level.ranks, ranks);
        if (group_ranks == ranks_per_group) continue;
        if (ranks % group_ranks != 0 || group_ranks % ranks_per_group != 0) {
            throw ConfigError(cat("the links of the profile join groups of ", group_ranks, " ranks, but ",
                                  ranks, " ranks do not form whole groups; use a multiple of ", group_ranks,
                                  " ranks"));
        }
        levels.push_back({.subgroups = group_ranks / ranks_per_group,
                          .ranks_per_subgroup = ranks_per_group,
                          .link = level.link});
        ranks_per_group = group_ranks;
    }
    if (ranks_per_group < ranks || levels.empty())
        levels.push_back({.subgroups = ranks / ranks_per_group, .ranks_per_subgroup = ranks_per_group});
    return levels;
}

GroupPosition find_subgroup_position(const SharingTask& task, std::size_t level, const GroupPosition& group,
                                     const SubgroupRun& subgroups) {
    const GroupLevel& own_level = task.levels[level];
    const int ranks_after =
        group.ranks_after + group.copies * (own_level.subgroups - subgroups.end) * own_level.ranks_per_subgroup;
    return {.copies = group.copies * subgroups.count,
            .ranks_after = task.rules.memory_limit == 0 ? 0 : ranks_after};
}

GroupPlan::GroupPlan(const SharingTask& task, std::size_t level, const GroupPosition& group,
                     const SubgroupPlans& subgroup_plans)
    : task_(task), level_(level), group_(group), subgroup_plans_(subgroup_plans) {
    const std::size_t layers = task.loads.layers();
    const std::size_t begin_count = level + 1 == task.levels.size() ? 1 : layers;
    const int subgroups = task.levels[level].subgroups;
    choices_.resize(begin_count * layers * static_cast<std::size_t>(subgroups));
    for (std::size_t begin = 0; begin < begin_count; ++begin) {
        for (std::size_t end = begin + 1; end <= layers; ++end) {
            const Range run{begin, end - begin};
            for (int used = 1; used <= subgroups; ++used) choices_[index(run, used)] = find_best(run, used);
        }
    }
}

std::size_t GroupPlan::index(Range run, int subgroups) const {
    const auto all_subgroups = static_cast<std::size_t>(task_.levels[level_].subgroups);
    return (run.begin * task_.loads.layers() + run.end() - 1) * all_subgroups +
           static_cast<std::size_t>(subgroups) - 1;
}

// Compares two kinds of assignments. Either all subgroups hold the whole run, or the last subgroups hold the
// end of the run and the earlier subgroups have the best assignment of the beginning of the run.
GroupPlan::Choice GroupPlan::find_best(Range run, int subgroups) const {
    Choice choice{.seconds = predict_seconds(run, {subgroups, subgroups}),
                  .last_begin = run.begin,
                  .last_count = subgroups};
    for (std::size_t split = run.begin + 1; split < run.end(); ++split) {
        const double message_seconds = predict_message_seconds(split);
        for (int last_count = 1; last_count < subgroups; ++last_count) {
            const double earlier_seconds = best({run.begin, split - run.begin}, subgroups - last_count).seconds;
            const double lower_bound = std::max(message_seconds, earlier_seconds);
            if (lower_bound >= choice.seconds) continue;
            const double seconds =
                std::max(lower_bound, predict_seconds({split, run.end() - split}, {subgroups, last_count}));
            if (seconds < choice.seconds) choice = {seconds, split, last_count};
        }
    }
    return choice;
}

double GroupPlan::predict_seconds(Range run, const SubgroupRun& subgroups) const {
    const auto bytes = static_cast<double>(task_.loads.find_load(run).parameter_bytes);
    const double reduce_seconds = predict_all_reduce_seconds(task_.levels[level_].link, subgroups.count, bytes);
    if (level_ == 0) {
        return std::max(reduce_seconds,
                        predict_rank_seconds(run, find_subgroup_position(task_, level_, group_, subgroups)));
    }
    const GroupPlan& subgroup_plan = *subgroup_plans_[static_cast<std::size_t>(subgroups.end) - 1]
                                                     [static_cast<std::size_t>(subgroups.count) - 1];
    return std::max(reduce_seconds, subgroup_plan.best(run, task_.levels[level_ - 1].subgroups).seconds);
}

double GroupPlan::predict_rank_seconds(Range run, const GroupPosition& rank) const {
    const LayerLoad& load = task_.loads.find_load(run);
    if (!fits_in_memory(load, rank, task_.rules)) return infinite_seconds;
    return divide_rounding_up(task_.rules.microbatches, rank.copies) * load.seconds +
           load.update_seconds / rank.copies;
}

double GroupPlan::predict_message_seconds(std::size_t end) const {
    const auto bytes = static_cast<double>(task_.loads.find_load({end - 1, 1}).row_bytes);
    return 2 * divide_rounding_up(task_.rules.microbatches, group_.copies) *
           task_.levels[level_].link.predict_seconds(bytes);
}

}  // namespace trireme::layout
