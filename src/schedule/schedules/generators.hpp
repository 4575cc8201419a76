// The parts that generators of schedules are made of. Programs hold compute instructions only.
#pragma once

#include <vector>

#include "schedule/programs/team_work.hpp"
#include "trireme/schedule/catalog.hpp"
#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/phases.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::schedule {

// What a generator reads, by the shape that its schedule takes.
struct ScheduleInput {
    const PipelineShape& shape;
    std::vector<TeamWork> work = {};  // per team, of one_stage_each and one_chunk_grid
    RegularShape grid = {};           // of grid, one_chunk_grid and v
};

// Programs of a step, of equal rows of teams, whose updates do not wait for the last team.
Phases with_validated_updates(const std::vector<Program>& step, const PipelineShape& shape);

// Evaluation: the forwards alone, in an order that needs one slot for each channel and no more.
std::vector<Program> forwards_of(const std::vector<TeamWork>& work);
std::vector<Program> forwards_of(const RegularShape& grid);
std::vector<Program> forwards_of_v(const RegularShape& v);

// 1F1B for each team, of the micro-batches in `work`.
std::vector<Program> alternate_passes(const PipelineShape& shape, const std::vector<TeamWork>& work);

// `warm_up` forwards (or all), then one backward after each further forward, then the other backwards. There
// are as many backwards as forwards.
Program alternate(const Program& forwards, const Program& backwards, std::size_t warm_up);

// `ahead` forwards (or all), then in turns an input half, a weight half and a further forward, as long as there
// are any; weight halves come `late` micro-batches behind their input halves. Where they are not late at all,
// nobody waits for the input half, and backward passes are whole.
Program with_late_weights(const TeamWork& work, std::size_t ahead, std::size_t late);

}  // namespace trireme::schedule
