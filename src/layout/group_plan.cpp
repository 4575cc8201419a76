#include "layout/group_plan.hpp"

#include <algorithm>

#include "trireme/base/error.hpp"

namespace trireme::layout {
namespace {

int quotient_up(int number, int divisor) { return (number + divisor - 1) / divisor; }

bool fits(const LayerLoad& load, const Standing& rank, const PipedreamRules& rules) {
    if (rules.memory_limit == 0) return true;
    const auto waiting = static_cast<std::size_t>(quotient_up(rank.behind, rank.copies));
    const std::size_t version = rules.stashes_weights ? load.parameter_bytes : 0;
    const std::size_t present = load.held_bytes + load.workspace_bytes + load.kept_bytes;
    return present + waiting * (load.kept_bytes + version) <= rules.memory_limit;
}

}  // namespace

RunLoads::RunLoads(const std::vector<LayerLoad>& layers) {
    for (std::size_t begin = 0; begin < layers.size(); ++begin) {
        std::vector<LayerLoad>& runs = from_.emplace_back();
        runs.push_back(layers[begin]);
        for (std::size_t l = begin + 1; l < layers.size(); ++l) runs.push_back(joined(runs.back(), layers[l]));
    }
}

std::vector<GroupLevel> group_levels(const std::vector<LinkLevel>& links, int ranks) {
    std::vector<GroupLevel> levels;
    int joined = 1;  // ranks per group so far
    for (const LinkLevel& level : links) {
        const int size = level.ranks == 0 ? ranks : std::min(level.ranks, ranks);
        if (size == joined) continue;
        if (ranks % size != 0 || size % joined != 0) {
            throw ConfigError(cat("links join groups of ", size, " ranks, and ", ranks,
                                  " ranks are no whole number of groups; use a multiple of ", size, " ranks"));
        }
        levels.push_back({.parts = size / joined, .below = joined, .link = level.link});
        joined = size;
    }
    if (joined < ranks || levels.empty()) levels.push_back({.parts = ranks / joined, .below = joined});
    return levels;
}

Standing standing_of(const SharingTask& task, std::size_t level, const Standing& group, const Parts& parts) {
    const GroupLevel& own = task.levels[level];
    const int behind = group.behind + group.copies * (own.parts - parts.end) * own.below;
    return {.copies = group.copies * parts.count, .behind = task.rules.memory_limit == 0 ? 0 : behind};
}

GroupPlan::GroupPlan(const SharingTask& task, std::size_t level, const Standing& group, const Below& below)
    : task_(task), level_(level), group_(group), below_(below) {
    const std::size_t layers = task.loads.layers();
    const std::size_t begins = level + 1 == task.levels.size() ? 1 : layers;
    const int parts = task.levels[level].parts;
    choices_.resize(begins * layers * static_cast<std::size_t>(parts));
    for (std::size_t begin = 0; begin < begins; ++begin) {
        for (std::size_t end = begin + 1; end <= layers; ++end) {
            const Range run{begin, end - begin};
            for (int used = 1; used <= parts; ++used) choices_[index(run, used)] = find_best(run, used);
        }
    }
}

std::size_t GroupPlan::index(Range run, int parts) const {
    const auto all_parts = static_cast<std::size_t>(task_.levels[level_].parts);
    return (run.begin * task_.loads.layers() + run.end() - 1) * all_parts + static_cast<std::size_t>(parts) - 1;
}

// Either all parts hold the whole run, or the last parts hold its end and the others hold its beginning in the
// best way.
GroupPlan::Choice GroupPlan::find_best(Range run, int parts) const {
    Choice choice{.seconds = seconds_of(run, {parts, parts}), .last_begin = run.begin, .last_count = parts};
    for (std::size_t split = run.begin + 1; split < run.end(); ++split) {
        const double message = message_seconds(split);
        for (int last = 1; last < parts; ++last) {
            const double before = best({run.begin, split - run.begin}, parts - last).seconds;
            const double known = std::max(message, before);
            if (known >= choice.seconds) continue;
            const double seconds = std::max(known, seconds_of({split, run.end() - split}, {parts, last}));
            if (seconds < choice.seconds) choice = {seconds, split, last};
        }
    }
    return choice;
}

double GroupPlan::seconds_of(Range run, const Parts& parts) const {
    const auto bytes = static_cast<double>(task_.loads.of(run).parameter_bytes);
    const double summed = sum_seconds(task_.levels[level_].link, parts.count, bytes);
    if (level_ == 0) {
        return std::max(summed, seconds_of_rank(run, standing_of(task_, level_, group_, parts)));
    }
    const GroupPlan& below =
        *below_[static_cast<std::size_t>(parts.end) - 1][static_cast<std::size_t>(parts.count) - 1];
    return std::max(summed, below.best(run, task_.levels[level_ - 1].parts).seconds);
}

double GroupPlan::seconds_of_rank(Range run, const Standing& rank) const {
    const LayerLoad& load = task_.loads.of(run);
    if (!fits(load, rank, task_.rules)) return never;
    return quotient_up(task_.rules.microbatches, rank.copies) * load.seconds +
           load.update_seconds / rank.copies;
}

double GroupPlan::message_seconds(std::size_t end) const {
    const auto bytes = static_cast<double>(task_.loads.of({end - 1, 1}).row_bytes);
    return 2 * quotient_up(task_.rules.microbatches, group_.copies) * task_.levels[level_].link.seconds(bytes);
}

}  // namespace trireme::layout
