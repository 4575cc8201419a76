#include "trireme/layout/pipedream.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "layout/group_plan.hpp"
#include "trireme/base/error.hpp"

namespace trireme::layout {
namespace {

constexpr int most_ranks = 1024;  // keeps the tables small and the search short

class Planner {
public:
    explicit Planner(const SharingTask& task) : task_(task) {}

    SharedLayers plan() {
        const std::size_t top = task_.levels.size() - 1;
        const Range all{0, task_.loads.layers()};
        const double seconds = plan_of(top, {}).best(all, task_.levels[top].parts).seconds;
        if (seconds == never) refuse_limit();
        Layout layout{.layers = all.count, .stages = {}};
        for (const Stage& stage : stages_of(top, all, {})) {
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
        Standing group = {};
        friend auto operator<=>(const Key&, const Key&) = default;
    };
    struct Entry {
        GroupPlan::Below below;
        std::optional<GroupPlan> plan;
    };

    const GroupPlan& plan_of(std::size_t level, const Standing& group) {
        const auto [at, is_new] = entries_.try_emplace({level, group});
        Entry& entry = at->second;
        if (is_new) {
            if (level > 0) entry.below = plans_below(level, group);
            entry.plan.emplace(task_, level, group, entry.below);
        }
        return *entry.plan;
    }

    GroupPlan::Below plans_below(std::size_t level, const Standing& group) {
        GroupPlan::Below below;
        for (int end = 1; end <= task_.levels[level].parts; ++end) {
            auto& of_end = below.emplace_back();
            for (int count = 1; count <= end; ++count) {
                of_end.push_back(&plan_of(level - 1, standing_of(task_, level, group, {end, count})));
            }
        }
        return below;
    }

    // Returns the stages of a group of `level` that holds `run`, traced back from the last layers.
    std::vector<Stage> stages_of(std::size_t level, Range run, const Standing& group) {
        std::vector<Stage> stages;
        Parts parts{.end = task_.levels[level].parts};
        while (run.count > 0) {
            const GroupPlan::Choice choice = plan_of(level, group).best(run, parts.end);
            parts.count = choice.last_count;
            const Range held{choice.last_begin, run.end() - choice.last_begin};
            std::vector<Stage> last = stages_of_parts(level, held, group, parts);
            stages.insert(stages.begin(), last.begin(), last.end());
            run.count = choice.last_begin - run.begin;
            parts.end -= parts.count;
        }
        return stages;
    }

    // Replicas alternate between the parts, so that a micro-batch stays within one part for all its stages.
    std::vector<Stage> stages_of_parts(std::size_t level, Range run, const Standing& group,
                                       const Parts& parts) {
        std::vector<Stage> stages{{.layers = run, .ranks = {0}}};
        if (level > 0) stages = stages_of(level - 1, run, standing_of(task_, level, group, parts));
        for (Stage& stage : stages) {
            std::vector<int> ranks;
            for (const int rank : stage.ranks) {
                for (int part = parts.end - parts.count; part < parts.end; ++part) {
                    ranks.push_back(part * task_.levels[level].below + rank);
                }
            }
            stage.ranks = std::move(ranks);
        }
        return stages;
    }

    [[noreturn]] void refuse_limit() const {
        throw ConfigError(cat("no way to share ", task_.loads.layers(), " layers among ", task_.rules.ranks,
                              " ranks keeps each within ", task_.rules.memory_limit,
                              " bytes; raise --memory-limit, or use more ranks, smaller micro-batches or "
                              "--recompute full"));
    }

    const SharingTask& task_;
    std::map<Key, Entry> entries_;
};

}  // namespace

SharedLayers share_layers(const std::vector<LayerLoad>& layers, const PipedreamRules& rules) {
    if (rules.ranks > most_ranks) {
        throw ConfigError(cat("--partition pipedream shares layers among up to ", most_ranks, " ranks, not ",
                              rules.ranks, "; use a grid, or a layout file"));
    }
    const SharingTask task{
        .loads = RunLoads(layers), .rules = rules, .levels = group_levels(rules.links, rules.ranks)};
    return Planner(task).plan();
}

}  // namespace trireme::layout
