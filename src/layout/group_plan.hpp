// How a group of linked ranks holds runs of layers best: a table of PipeDream's planner.
#pragma once

#include <compare>
#include <limits>
#include <vector>

#include "trireme/layout/box.hpp"
#include "trireme/layout/links.hpp"
#include "trireme/layout/partition.hpp"
#include "trireme/layout/pipedream.hpp"

namespace trireme::layout {

// The loads of all runs of layers, added up once.
class RunLoads {
public:
    explicit RunLoads(const std::vector<LayerLoad>& layers);

    std::size_t layers() const { return from_.size(); }
    const LayerLoad& of(Range run) const { return from_[run.begin][run.count - 1]; }  // of one layer at least

private:
    std::vector<std::vector<LayerLoad>> from_;  // per first layer: of one layer, of two, ...
};

// A group of this level has `parts` groups of the level below, or ranks at the first level.
struct GroupLevel {
    int parts = 1;
    int below = 1;   // ranks of a part
    Link link = {};  // among the parts

    friend bool operator==(const GroupLevel&, const GroupLevel&) = default;
};

// From the smallest groups to all ranks; one level at least. Throws ConfigError where the ranks are not made of
// whole groups.
std::vector<GroupLevel> group_levels(const std::vector<LinkLevel>& links, int ranks);

inline constexpr double never = std::numeric_limits<double>::infinity();

// What is shared out, and what that costs.
struct SharingTask {
    RunLoads loads;
    PipedreamRules rules;
    std::vector<GroupLevel> levels;
};

// How a group stands in the whole pipeline.
struct Standing {
    int copies = 1;  // that take turns with the micro-batches, itself included
    int behind = 0;  // ranks in later stages; not counted where memory has no limit

    friend auto operator<=>(const Standing&, const Standing&) = default;
};

// Neighbouring parts of a group that hold the same layers: `count` of them, the last being part `end` - 1.
struct Parts {
    int end = 0;
    int count = 0;
};

// How each of these parts stands.
Standing standing_of(const SharingTask& task, std::size_t level, const Standing& group, const Parts& parts);

class GroupPlan {
public:
    // The best way to lay a run of layers on a group's first parts.
    struct Choice {
        double seconds = never;      // of a step, in the slowest part
        std::size_t last_begin = 0;  // the first layer on the last parts
        int last_count = 0;          // of these parts
    };

    // Of the groups of the level below, where there is one: how part number end - 1, with count - 1 others,
    // holds its layers. Per end and count, counted from 1.
    using Below = std::vector<std::vector<const GroupPlan*>>;

    // Of all runs, or at the uppermost level of those that begin with the first layer.
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
