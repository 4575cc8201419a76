// The input of schedule generators, and functions with which generators build programs.
#pragma once

#include <vector>

#include "schedule/programs/team_work.hpp"
#include "trireme/schedule/catalog.hpp"
#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/phases.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::schedule {

// The input of a generator. The ScheduleShape of the schedule decides which members are set.
struct ScheduleInput {
    const PipelineShape& shape;       // kept by reference
    std::vector<TeamWork> work = {};  // per team; set for one_stage_per_team and one_chunk_grid
    ReplicaGrid grid = {};            // set for grid, one_chunk_grid and two_chunk_v
};

// Returns the phases of a schedule whose updates are speculative: a STEP does not wait for the gradients of
// other stages. The phases include REDUCEs, STEPs and VALIDATEs. `step_programs` has the compute instructions
// of one step, one program per team. The teams must form equal pipeline replicas.
Phases make_updates_speculative(const std::vector<Program>& step_programs, const PipelineShape& shape);

// Return forward-only programs, one per team, in an order that needs just one slot per channel. The three
// functions are for teams that hold at most one stage each, for a grid, and for a V.
std::vector<Program> make_forwards(const std::vector<TeamWork>& work);
std::vector<Program> make_forwards(const ReplicaGrid& grid);
std::vector<Program> make_v_forwards(const ReplicaGrid& grid);

// Returns 1F1B programs, one per team, of the micro-batches in `work`. There is no flush between steps. `work`
// is the result of find_team_work(shape).
std::vector<Program> make_1f1b_programs(const PipelineShape& shape, const std::vector<TeamWork>& work);

// Returns `warm_up` forwards (or all, if there are fewer), then one backward after each further forward, then
// the remaining backwards. The numbers of backwards and forwards must be equal.
Program alternate(const Program& forwards, const Program& backwards, std::size_t warm_up);

// Returns the program of one team: `warm_up` forwards (or all, if there are fewer), then in turns an input
// half, a weight half and a further forward, until each kind is used up. The weight half of the team's i-th
// micro-batch follows the input half of the (i + weight_delay)-th one. If `weight_delay` is 0, backwards are
// not split. A delay of 0 suits the first stage, because no team waits for the input halves of the first stage.
Program delay_weight_halves(const TeamWork& work, std::size_t warm_up, std::size_t weight_delay);

}  // namespace trireme::schedule
