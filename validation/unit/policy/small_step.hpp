// Small steps, for which tests can try all choices of recomputation.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "team_choices.hpp"
#include "trireme/policy/recompute.hpp"
#include "trireme/schedule/generate.hpp"
#include "trireme/schedule/lower.hpp"

namespace trireme::policy {

// A step with one rank per stage: two stages, unless a test sets another shape. A block may recompute nothing,
// some or all of its activations.
struct SmallStep {
    static constexpr int stages = 2;
    static constexpr int microbatches = 3;

    schedule::PipelineShape shape = schedule::make_grid_shape(stages, 1, 1, microbatches);
    std::vector<std::vector<schedule::StageCost>> costs;
    std::vector<TeamOptions> teams;
};

inline std::size_t draw(std::mt19937_64& random, std::size_t least, std::size_t most) {
    return least + random() % (most - least + 1);
}

// Returns the options of a micro-batch, sorted by time: all divisions of the stage's blocks among three levels.
inline std::vector<PassOption> draw_options(std::mt19937_64& random, int blocks) {
    const std::size_t size = draw(random, 1, 8);  // of the micro-batch
    std::vector<PassOption> options;
    for (int full = 0; full <= blocks; ++full) {
        for (int selective = 0; full + selective <= blocks; ++selective) {
            PassOption& option = options.emplace_back();
            const auto none = static_cast<std::size_t>(blocks - full - selective);
            option.levels = {plan::Recompute::full};
            option.extra.backward_input = static_cast<double>(size) * (0.15 * selective + 1.0 * full);
            option.bytes = {{.stash = 64 * size *
                                      (10 * none + 6 * static_cast<std::size_t>(selective) +
                                       static_cast<std::size_t>(full)),
                             .workspaces = {64 * size, 128 * size + (full > 0 ? 64 * 10 * size : 0), 0, 0}}};
        }
    }
    std::ranges::stable_sort(options, {}, [](const PassOption& option) { return option.extra.backward_input; });
    return options;
}

// `blocks` has the number of blocks of each stage. The limit of each team is between the least that it can need
// and its need with the first options.
inline SmallStep draw_step(std::mt19937_64& random, const std::string& schedule,
                           const std::array<int, SmallStep::stages>& blocks) {
    SmallStep step;
    const std::vector<schedule::Program> programs =
        lower(generate(schedule::require_schedule(schedule), step.shape), step.shape);
    for (int stage = 0; stage < SmallStep::stages; ++stage) {
        TeamOptions& team = step.teams.emplace_back();
        team.team = stage;
        team.uses = list_buffer_uses(programs[static_cast<std::size_t>(stage)], stage, step.shape);
        team.row_bytes = {std::vector<std::size_t>(SmallStep::microbatches, 64)};
        step.costs.emplace_back();
        PassChoices first;
        for (int m = 0; m < SmallStep::microbatches; ++m) {
            team.passes[{stage, m}] = draw_options(random, blocks[static_cast<std::size_t>(stage)]);
            first[{stage, m}] = 0;
            const auto seconds = static_cast<double>(draw(random, 1, 8));
            step.costs.back().push_back(
                {.forward = seconds, .backward_input = seconds, .backward_weight = seconds});
        }
        std::size_t least = std::numeric_limits<std::size_t>::max();
        visit_choices(
            team, [&](const PassChoices& choices) { least = std::min(least, find_largest(team, choices)); });
        team.max_bytes = {draw(random, least, find_largest(team, first) - 1)};
    }
    return step;
}

// Permits each team to offload a part of what it needs beyond its limit.
inline void permit_offload(std::mt19937_64& random, SmallStep& step, double time_per_byte) {
    for (TeamOptions& team : step.teams) {
        team.offload_time_per_byte = time_per_byte;
        team.offloadable_bytes = {64 * draw(random, 5, 60)};
    }
}

inline schedule::StepClock make_clock(const SmallStep& step, const std::string& schedule) {
    return schedule::StepClock(generate_phases(schedule::require_schedule(schedule), step.shape), step.shape);
}

inline double predict_seconds(const SmallStep& step, const std::vector<PassChoices>& choices,
                              schedule::StepClock& clock,
                              const std::vector<schedule::OffloadTimes>& offload = {}) {
    std::vector<std::vector<schedule::StageCost>> costs = step.costs;
    for (std::size_t t = 0; t < step.teams.size(); ++t)
        for (const auto& [key, option] : choices[t])
            costs[t][static_cast<std::size_t>(key.second)].backward_input +=
                step.teams[t].passes.at(key)[option].extra.backward_input;
    return clock.predict_seconds(schedule::StepCosts(costs), offload);
}

// Returns the seconds of a step in which every team offloads what its buffers need beyond its limit.
inline double predict_with_offload(const SmallStep& step, const std::vector<PassChoices>& choices,
                                   schedule::StepClock& clock) {
    std::vector<schedule::OffloadTimes> offload;
    for (std::size_t t = 0; t < step.teams.size(); ++t)
        offload.push_back(predict_offload(step.teams[t], choices[t]));
    return predict_seconds(step, choices, clock, offload);
}

}  // namespace trireme::policy
