// Building blocks of schedule generators. Programs contain compute instructions only.
#pragma once

#include <vector>

#include "schedule/programs/team_work.hpp"
#include "trireme/schedule/catalog.hpp"
#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/phases.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::schedule {

// The input of a generator. Which members are set depends on the shape that its schedule takes.
struct ScheduleInput {
    const PipelineShape& shape;
    std::vector<TeamWork> work = {};  // per team; for one_stage_each and one_chunk_grid
    RegularShape grid = {};           // for grid, one_chunk_grid and v
};

// Makes the updates of a step speculative, so that they do not wait for the last team. `step` has one program
// per team; teams form equal rows.
Phases with_validated_updates(const std::vector<Program>& step, const PipelineShape& shape);

// Return the forwards only, for evaluation, in an order that needs just one slot per channel.
std::vector<Program> forwards_of(const std::vector<TeamWork>& work);
std::vector<Program> forwards_of(const RegularShape& grid);
std::vector<Program> forwards_of_v(const RegularShape& v);

// Returns 1F1B programs of the micro-batches in `work`, one per team.
std::vector<Program> alternate_passes(const PipelineShape& shape, const std::vector<TeamWork>& work);

// Returns `warm_up` forwards (or all), then one backward after each further forward, then the other backwards.
// There must be as many backwards as forwards.
Program alternate(const Program& forwards, const Program& backwards, std::size_t warm_up);

// Returns `ahead` forwards (or all), then in turns an input half, a weight half and a further forward, as long
// as there are any. Weight halves come `late` micro-batches after their input halves. If `late` is 0, no team
// waits for the input half, and backward passes are whole.
Program with_late_weights(const TeamWork& work, std::size_t ahead, std::size_t late);

}  // namespace trireme::schedule
