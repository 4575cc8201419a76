// The best way for a group of linked ranks to hold runs of layers: a table of PipeDream's planner.
#pragma once

#include <compare>
#include <limits>
#include <vector>

#include "trireme/layout/box.hpp"
#include "trireme/layout/links.hpp"
#include "trireme/layout/partition.hpp"
#include "trireme/layout/pipedream.hpp"

namespace trireme::layout {

// The summed loads of all runs of layers.
class RunLoads {
public:
    explicit RunLoads(const std::vector<LayerLoad>& layers);

    std::size_t layers() const { return from_.size(); }
    const LayerLoad& of(Range run) const { return from_[run.begin][run.count - 1]; }  // at least one layer

private:
    std::vector<std::vector<LayerLoad>> from_;  // by first layer, then by length - 1
};

// A group of this level consists of `parts` groups of the level below, or of `parts` ranks at level 0.
struct GroupLevel {
    int parts = 1;
    int below = 1;   // ranks per part
    Link link = {};  // among the parts

    friend bool operator==(const GroupLevel&, const GroupLevel&) = default;
};

// Returns the levels from the smallest groups to all ranks, at least one. Throws ConfigError if the ranks do
// not form whole groups.
std::vector<GroupLevel> group_levels(const std::vector<LinkLevel>& links, int ranks);

inline constexpr double never = std::numeric_limits<double>::infinity();

// The layers to be shared among ranks, and the costs of sharing.
struct SharingTask {
    RunLoads loads;
    PipedreamRules rules;
    std::vector<GroupLevel> levels;
};

// The position of a group in the whole pipeline.
struct Standing {
    int copies = 1;  // groups that share the micro-batches, including this one
    int behind = 0;  // ranks in later stages; 0 if memory has no limit

    friend auto operator<=>(const Standing&, const Standing&) = default;
};

// Adjacent parts of a group that hold the same layers: `count` parts, of which the last is part `end` - 1.
struct Parts {
    int end = 0;
    int count = 0;
};

// Returns the standing of each of these parts.
Standing standing_of(const SharingTask& task, std::size_t level, const Standing& group, const Parts& parts);

class GroupPlan {
public:
    // The best assignment of a run of layers to the first parts of a group.
    struct Choice {
        double seconds = never;      // per step, in the slowest part
        std::size_t last_begin = 0;  // first layer of the last parts
        int last_count = 0;          // number of these parts
    };

    // Plans of the level below; empty at level 0. Element [end - 1][count - 1] plans part `end` - 1 if it holds
    // the same layers as the `count` - 1 parts before it.
    using Below = std::vector<std::vector<const GroupPlan*>>;

    // Plans all runs of layers; at the top level only runs that begin with the first layer.
    GroupPlan(const SharingTask& task, std::size_t level, const Standing& group, const Below& below);

    const Choice& best(Range run, int parts) const { return choices_[index(run, parts)]; }

private:
    std::size_t index(Range run, int parts) const;
    Choice find_best(Range run, int parts) const;
    double seconds_of(Range run, const Parts& parts) const;
    double seconds_of_rank(Range run, const Standing& rank) const;
    double message_seconds(std::size_t end) const;

    const SharingTask& task_;
    std::size_t level_;
    Standing group_;
    const Below& below_;
    std::vector<Choice> choices_;
};

}  // namespace trireme::layout
