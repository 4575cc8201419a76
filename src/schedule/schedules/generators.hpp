// One generator for each schedule. generate() has found that the shape suits it, that it is whole and that it
// trains; the programs hold compute instructions only.
#pragma once

#include <vector>

#include "schedule/programs/team_work.hpp"
#include "trireme/schedule/generate.hpp"
#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme {

// For shapes whose teams hold one stage each, with any number of replicas and any executors. `work`: per team.
std::vector<Program> inter_layer(const std::vector<TeamWork>& work);
std::vector<Program> gpipe(const std::vector<TeamWork>& work);
std::vector<Program> one_f_one_b(const PipelineShape& shape, const std::vector<TeamWork>& work);

// For grids of one chunk.
std::vector<Program> zb_h1(const std::vector<TeamWork>& work, int pipe);
std::vector<Program> zb_h2(const std::vector<TeamWork>& work, int pipe);

// For grids of any number of chunks.
std::vector<Program> interleaved(const RegularShape& grid);
std::vector<Program> looped_bfs(const RegularShape& grid);

std::vector<Program> zb_v(const RegularShape& v);

// Programs of a step, of equal rows of teams, whose updates do not wait for the last team.
Phases with_validated_updates(const std::vector<Program>& step, const PipelineShape& shape);

// Without a flush between steps, for the `shape.steps` steps of shapes whose teams hold one stage each: compute
// instructions with the ages of their weights, REDUCEs and STEPs. `kind` is one of the three that keep work in
// flight.
std::vector<Program> pipedream(ScheduleKind kind, PipelineShape shape);

// Evaluation: the forwards alone, in an order that needs one slot for each channel and no more.
std::vector<Program> forwards_of(const std::vector<TeamWork>& work);
std::vector<Program> forwards_of(const RegularShape& grid);
std::vector<Program> forwards_of_v(const RegularShape& v);

// `warm_up` forwards (or all), then one backward after each further forward, then the other backwards. There
// are as many backwards as forwards.
Program alternate(const Program& forwards, const Program& backwards, std::size_t warm_up);

// `ahead` forwards (or all), then in turns an input half, a weight half and a further forward, as long as there
// are any; weight halves come `late` micro-batches behind their input halves. Where they are not late at all,
// nobody waits for the input half, and backward passes are whole.
Program with_late_weights(const TeamWork& work, std::size_t ahead, std::size_t late);

}  // namespace trireme
