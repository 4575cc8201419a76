#include "trireme/schedule/catalog.hpp"

#include <algorithm>

#include "trireme/base/error.hpp"
#include "trireme/base/message_text.hpp"

namespace trireme::schedule {

using Programs = std::vector<Program>;
using Idle = std::optional<double>;

// Generators and closed forms, defined in the files of their schedules.
Programs inter_layer(const ScheduleInput& input);
Programs gpipe(const ScheduleInput& input);
Programs one_f_one_b(const ScheduleInput& input);
Programs interleaved(const ScheduleInput& input);
Programs looped_bfs(const ScheduleInput& input);
Programs zb_h1(const ScheduleInput& input);
Programs zb_h2(const ScheduleInput& input);
Programs zb_v(const ScheduleInput& input);
Programs pipedream(const ScheduleInput& input);
Programs pipedream_vertical(const ScheduleInput& input);
Programs pipedream_2bw(const ScheduleInput& input);

Idle idle_of_inter_layer(const EqualRow& row, const StageCost& cost);
Idle idle_of_whole_passes(const EqualRow& row, const StageCost& cost);
Idle idle_of_zb_h1(const EqualRow& row, const StageCost& cost);
Idle idle_of_zb_h2(const EqualRow& row, const StageCost& cost);
Idle idle_of_zb_v(const EqualRow& row, const StageCost& cost);
Idle idle_of_full_pipeline(const EqualRow& row, const StageCost& cost);

std::string obstacle_to_2bw(const ScheduleInput& input);

namespace {

constexpr Schedule catalog[] = {
    {.name = "inter-layer",
     .meaning = "one micro-batch after the other, without overlap",
     .shape = ScheduleShape::one_stage_each,
     .programs = inter_layer,
     .idle = idle_of_inter_layer},
    {.name = "gpipe",  // Huang et al., 2019
     .meaning = "all forward passes, then all backward passes",
     .shape = ScheduleShape::one_stage_each,
     .programs = gpipe,
     .idle = idle_of_whole_passes},
    {.name = "1f1b",  // Narayanan et al., 2019
     .meaning = "one forward, one backward in turns, after a warm-up",
     .shape = ScheduleShape::one_stage_each,
     .programs = one_f_one_b,
     .idle = idle_of_whole_passes},
    {.name = "interleaved",  // Narayanan et al., 2021
     .meaning = "1f1b over --chunks stages per rank; with one stage it is 1f1b",
     .shape = ScheduleShape::grid,
     .programs = interleaved,
     .idle = idle_of_whole_passes},
    {.name = "looped-bfs",  // Lamy-Poirier, 2022
     .meaning = "breadth first over --chunks stages per rank",
     .shape = ScheduleShape::grid,
     .programs = looped_bfs,
     .idle = idle_of_whole_passes},
    {.name = "zb-h1",  // Qi et al., 2024
     .meaning = "zero bubble with the memory of 1f1b: weight gradients fill gaps",
     .shape = ScheduleShape::one_chunk_grid,
     .programs = zb_h1,
     .idle = idle_of_zb_h1,
     .splits_backward = true},
    {.name = "zb-h2",  // Qi et al., 2024
     .meaning = "zero bubble with about twice the memory of 1f1b",
     .shape = ScheduleShape::one_chunk_grid,
     .programs = zb_h2,
     .idle = idle_of_zb_h2,
     .splits_backward = true},
    {.name = "zb-v",  // Qi et al., 2024
     .meaning = "zero bubble with two stages per rank, placed in a V",
     .shape = ScheduleShape::v,
     .programs = zb_v,
     .idle = idle_of_zb_v,
     .splits_backward = true},
    {.name = "pipedream",  // Narayanan et al., 2019
     .meaning = "no flush; stale weights, each stage with its own delay",
     .shape = ScheduleShape::one_stage_each,
     .programs = pipedream,
     .idle = idle_of_full_pipeline,
     .keeps_old_weights = true,
     .updates_stages_alone = true},
    {.name = "pipedream-vertical",  // Narayanan et al., 2019, section 3.3
     .meaning = "no flush; stale weights, all stages with the delay of the first",
     .shape = ScheduleShape::one_stage_each,
     .programs = pipedream_vertical,
     .idle = idle_of_full_pipeline,
     .keeps_old_weights = true},
    {.name = "pipedream-2bw",  // Narayanan et al., 2021
     .meaning = "no flush; weights that are one update old",
     .shape = ScheduleShape::one_stage_each,
     .programs = pipedream_2bw,
     .idle = idle_of_full_pipeline,
     .obstacle = obstacle_to_2bw,
     .keeps_old_weights = true},
};

}  // namespace

std::span<const Schedule> schedules() { return catalog; }

const Schedule* find_schedule(const std::string& name) {
    const auto* const found = std::ranges::find(catalog, name, &Schedule::name);
    return found == std::end(catalog) ? nullptr : found;
}

const Schedule& schedule_named(const std::string& name) {
    if (const Schedule* const schedule = find_schedule(name)) return *schedule;
    std::vector<std::string> known;
    for (const Schedule& schedule : catalog) known.emplace_back(schedule.name);
    known.emplace_back(searched_schedule);
    std::string names;
    for (const std::string& each : known) names += (names.empty() ? "" : ", ") + each;
    throw ConfigError(cat("there is no schedule ", in_quotes(name), "; the schedules are ", names,
                          ", and files that end in .csv", did_you_mean(name, known)));
}

}  // namespace trireme::schedule
