#include "trireme/schedule/catalog.hpp"

#include <algorithm>

#include "trireme/base/error.hpp"
#include "trireme/base/message_text.hpp"

namespace trireme::schedule {

using Programs = std::vector<Program>;
using IdleTime = std::optional<double>;

// Functions of the catalog's entries, defined in the files of their schedules: program generators, closed forms
// of the idle time, and obstacles.
Programs make_inter_layer_programs(const ScheduleInput& input);
Programs make_gpipe_programs(const ScheduleInput& input);
Programs make_one_f_one_b_programs(const ScheduleInput& input);
Programs make_interleaved_programs(const ScheduleInput& input);
Programs make_looped_bfs_programs(const ScheduleInput& input);
Programs make_zb_h1_programs(const ScheduleInput& input);
Programs make_zb_h2_programs(const ScheduleInput& input);
Programs make_zb_v_programs(const ScheduleInput& input);
Programs make_pipedream_programs(const ScheduleInput& input);
Programs make_pipedream_vertical_programs(const ScheduleInput& input);
Programs make_pipedream_2bw_programs(const ScheduleInput& input);

IdleTime compute_inter_layer_idle_time(const PipelineSizes& sizes, const StageCost& cost);
IdleTime compute_unsplit_idle_time(const PipelineSizes& sizes, const StageCost& cost);
IdleTime compute_zb_h1_idle_time(const PipelineSizes& sizes, const StageCost& cost);
IdleTime compute_zb_h2_idle_time(const PipelineSizes& sizes, const StageCost& cost);
IdleTime compute_zb_v_idle_time(const PipelineSizes& sizes, const StageCost& cost);
IdleTime compute_full_pipeline_idle_time(const PipelineSizes& sizes, const StageCost& cost);

std::string find_2bw_obstacle(const ScheduleInput& input);

namespace {

constexpr Schedule catalog[] = {
    {.name = "inter-layer",
     .help = "one micro-batch after the other, without overlap",
     .shape = ScheduleShape::one_stage_per_team,
     .make_programs = make_inter_layer_programs,
     .compute_idle_time = compute_inter_layer_idle_time},
    {.name = "gpipe",  // Huang et al., 2019
     .help = "all forward passes, then all backward passes",
     .shape = ScheduleShape::one_stage_per_team,
     .make_programs = make_gpipe_programs,
     .compute_idle_time = compute_unsplit_idle_time},
    {.name = "1f1b",  // Narayanan et al., 2019
     .help = "one forward, one backward in turns, after a warm-up",
     .shape = ScheduleShape::one_stage_per_team,
     .make_programs = make_one_f_one_b_programs,
     .compute_idle_time = compute_unsplit_idle_time,
     .is_1f1b = true},
    {.name = "envpipe",  // Choi et al., 2023
     .help = "1f1b with a longer warm-up, to save energy",
     .shape = ScheduleShape::one_stage_per_team,
     .make_programs = make_one_f_one_b_programs,
     .compute_idle_time = compute_unsplit_idle_time,
     .is_1f1b = true,
     .takes_extra_forwards = true},
    {.name = "interleaved",  // Narayanan et al., SC 2021
     .help = "1f1b over --chunks stages per rank; with one stage it is 1f1b",
     .shape = ScheduleShape::grid,
     .make_programs = make_interleaved_programs,
     .compute_idle_time = compute_unsplit_idle_time},
    {.name = "looped-bfs",  // Lamy-Poirier, 2022
     .help = "breadth first over --chunks stages per rank",
     .shape = ScheduleShape::grid,
     .make_programs = make_looped_bfs_programs,
     .compute_idle_time = compute_unsplit_idle_time},
    {.name = "zb-h1",  // Qi et al., 2024
     .help = "zero bubble with the memory of 1f1b",
     .shape = ScheduleShape::one_chunk_grid,
     .make_programs = make_zb_h1_programs,
     .compute_idle_time = compute_zb_h1_idle_time,
     .splits_backward = true},
    {.name = "zb-h2",  // Qi et al., 2024
     .help = "zero bubble with about twice the memory of 1f1b",
     .shape = ScheduleShape::one_chunk_grid,
     .make_programs = make_zb_h2_programs,
     .compute_idle_time = compute_zb_h2_idle_time,
     .splits_backward = true},
    {.name = "zb-v",  // Qi et al., 2024
     .help = "zero bubble with two stages per rank, placed in a V",
     .shape = ScheduleShape::two_chunk_v,
     .make_programs = make_zb_v_programs,
     .compute_idle_time = compute_zb_v_idle_time,
     .splits_backward = true},
    {.name = "pipedream",  // Narayanan et al., 2019
     .help = "no flush; stale weights, each stage with its own delay",
     .shape = ScheduleShape::one_stage_per_team,
     .make_programs = make_pipedream_programs,
     .compute_idle_time = compute_full_pipeline_idle_time,
     .stashes_weights = true,
     .updates_stages_independently = true},
    {.name = "pipedream-vertical",  // Narayanan et al., 2019, section 3.3
     .help = "no flush; stale weights, all stages with the delay of the first",
     .shape = ScheduleShape::one_stage_per_team,
     .make_programs = make_pipedream_vertical_programs,
     .compute_idle_time = compute_full_pipeline_idle_time,
     .stashes_weights = true},
    {.name = "pipedream-2bw",  // Narayanan et al., ICML 2021
     .help = "no flush; weights that are one update old",
     .shape = ScheduleShape::one_stage_per_team,
     .make_programs = make_pipedream_2bw_programs,
     .compute_idle_time = compute_full_pipeline_idle_time,
     .find_obstacle = find_2bw_obstacle,
     .stashes_weights = true},
};

}  // namespace

std::span<const Schedule> list_schedules() { return catalog; }

const Schedule* find_schedule(const std::string& name) {
    const auto* const found = std::ranges::find(catalog, name, &Schedule::name);
    return found == std::end(catalog) ? nullptr : found;
}

bool is_1f1b(const std::string& name) {
    const Schedule* const schedule = find_schedule(name);
    return schedule != nullptr && schedule->is_1f1b;
}

bool takes_extra_forwards(const std::string& name) {
    const Schedule* const schedule = find_schedule(name);
    return schedule != nullptr && schedule->takes_extra_forwards;
}

const Schedule& require_schedule(const std::string& name) {
    if (const Schedule* const schedule = find_schedule(name)) return *schedule;
    std::vector<std::string> known_names;
    for (const Schedule& schedule : catalog) known_names.emplace_back(schedule.name);
    known_names.emplace_back(searched_schedule_name);
    std::string name_list;
    for (const std::string& each : known_names) name_list += (name_list.empty() ? "" : ", ") + each;
    throw ConfigError(cat("there is no schedule ", quote_text(name), "; the schedules are ", name_list,
                          ", and files that end in .csv", suggest_word(name, known_names)));
}

}  // namespace trireme::schedule
