// Building blocks of schedule generators. Programs contain compute instructions only.
#pragma once

#include <vector>

#include "schedule/programs/team_work.hpp"
#include "trireme/schedule/catalog.hpp"
#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/phases.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::schedule {

// The input of a generator. The shape that its schedule requires decides which members are set.
struct ScheduleInput {
    const PipelineShape& shape;
    std::vector<TeamWork> work = {};  // per team; set for one_stage_per_team and one_chunk_grid
    ReplicaGrid grid = {};            // set for grid, one_chunk_grid and two_chunk_v
};

// Makes the updates of a step speculative, so that they do not wait for the last team. `step_programs` has one
// program per team, with compute instructions only; the teams form equal pipeline replicas.
Phases make_updates_speculative(const std::vector<Program>& step_programs, const PipelineShape& shape);

// Return programs of forwards only, for evaluation, in an order that needs just one slot per channel.
std::vector<Program> make_forwards(const std::vector<TeamWork>& work);
std::vector<Program> make_forwards(const ReplicaGrid& grid);
std::vector<Program> make_v_forwards(const ReplicaGrid& grid);

// Returns 1F1B programs of the micro-batches in `work`, one per team.
std::vector<Program> make_1f1b_programs(const PipelineShape& shape, const std::vector<TeamWork>& work);

// Returns `warm_up` forwards (or all, if there are fewer), then one backward after each further forward, then
// the remaining backwards. The numbers of backwards and forwards must be equal.
Program alternate(const Program& forwards, const Program& backwards, std::size_t warm_up);

// Returns `warm_up` forwards (or all, if there are fewer), then in turns an input half, a weight half and a
// further forward, until each kind is used up. Weight halves come `weight_delay` micro-batches after their
// input halves. If `weight_delay` is 0, backward passes are not split: this is for the first stage, for whose
// input halves no team waits.
Program delay_weight_halves(const TeamWork& work, std::size_t warm_up, std::size_t weight_delay);

}  // namespace trireme::schedule
