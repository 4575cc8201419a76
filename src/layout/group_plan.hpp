// The best assignments of runs of consecutive layers to a group of linked ranks, e.g. a node. PipeDream's
// planner stores these assignments in tables; see pipedream.hpp.
#pragma once

#include <compare>
#include <limits>
#include <vector>

#include "trireme/layout/box.hpp"
#include "trireme/layout/links.hpp"
#include "trireme/layout/partition.hpp"
#include "trireme/layout/pipedream.hpp"

namespace trireme::layout {

// The merged load of every run of consecutive layers.
class RunLoads {
public:
    explicit RunLoads(const std::vector<LayerLoad>& layers);

    std::size_t layers() const { return loads_.size(); }
    // `run` must not be empty.
    const LayerLoad& find_load(Range run) const { return loads_[run.begin][run.count - 1]; }

private:
    std::vector<std::vector<LayerLoad>> loads_;  // by first layer, then by length - 1
};

// A level of groups of ranks. A group consists of `subgroups` groups of the previous level; at level 0, a
// subgroup is a rank.
struct GroupLevel {
    int subgroups = 1;
    int ranks_per_subgroup = 1;
    Link link = {};  // between any two subgroups of a group

    friend bool operator==(const GroupLevel&, const GroupLevel&) = default;
};

// Returns the levels from the smallest groups to the group of all ranks, at least one level. If `links` has no
// group of all ranks, communication at the last level takes no time. Throws ConfigError if the groups of a
// level do not divide the ranks evenly, or do not consist of whole groups of the previous level.
std::vector<GroupLevel> make_group_levels(const std::vector<LinkLevel>& links, int ranks);

// The time of an assignment that exceeds the memory limit.
inline constexpr double infinite_seconds = std::numeric_limits<double>::infinity();

// The layers that the planner assigns to ranks, and the inputs that determine the costs of assignments.
struct SharingTask {
    RunLoads loads;
    PipedreamRules rules;
    std::vector<GroupLevel> levels;
};

// The position of a group, or of a single rank, in the whole pipeline.
struct GroupPosition {
    int copies = 1;       // number of groups, including this one, that hold the same layers; the groups share
                          // the micro-batches of a step
    int ranks_after = 0;  // number of ranks in later stages; always 0 if memory has no limit

    friend auto operator<=>(const GroupPosition&, const GroupPosition&) = default;
};

// Adjacent subgroups of a group that all hold the same layers: the subgroups with indices `end` - `count` to
// `end` - 1.
struct SubgroupRun {
    int end = 0;
    int count = 0;
};

// Returns the position that each of `subgroups` has. `level` and `group` are the level and the position of the
// group that contains the subgroups.
GroupPosition find_subgroup_position(const SharingTask& task, std::size_t level, const GroupPosition& group,
                                     const SubgroupRun& subgroups);

// The best assignments of runs of layers to a group at a level and a position.
class GroupPlan {
public:
    // The best assignment of a run of layers to the first n subgroups of a group. The last `last_count` of
    // these n subgroups all hold the layers from `last_begin` to the end of the run.
    struct Choice {
        double seconds = infinite_seconds;  // seconds per step of the longest activity: see pipedream.hpp
        std::size_t last_begin = 0;         // first layer that the last subgroups hold
        int last_count = 0;                 // number of the last subgroups
    };

    // Plans of the previous level, not owned; empty at level 0. Element [end - 1][count - 1] is the plan of
    // each subgroup of SubgroupRun{end, count}.
    using SubgroupPlans = std::vector<std::vector<const GroupPlan*>>;

    // Finds the best assignments of all runs of layers. At the top level, finds them only for the runs that
    // begin with the first layer. `task` and `subgroup_plans` must outlive the plan.
    GroupPlan(const SharingTask& task, std::size_t level, const GroupPosition& group,
              const SubgroupPlans& subgroup_plans);

    // Returns the best assignment of `run` to the first `subgroups` subgroups.
    const Choice& best(Range run, int subgroups) const { return choices_[index(run, subgroups)]; }

private:
    std::size_t index(Range run, int subgroups) const;
    Choice find_best(Range run, int subgroups) const;
    // Returns the seconds per step of the longest activity if all of `subgroups` hold `run`.
    double predict_seconds(Range run, const SubgroupRun& subgroups) const;
    // Returns the seconds per step of the passes and the update of a rank that holds `run`.
    double predict_rank_seconds(Range run, const GroupPosition& rank) const;
    // Returns the seconds per step of the messages between layers `end` - 1 and `end`.
    double predict_message_seconds(std::size_t end) const;

    const SharingTask& task_;
    std::size_t level_;
    GroupPosition group_;
    const SubgroupPlans& subgroup_plans_;
    std::vector<Choice> choices_;
};

}  // namespace trireme::layout
