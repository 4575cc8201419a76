// One generator for each schedule. generate() has found that the shape suits it, that it is whole and that it
// trains; the programs hold compute instructions only.
#pragma once

#include <vector>

#include "schedule/team_work.hpp"
#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme {

// For shapes whose teams hold one stage each, with any number of replicas and any executors. `work`: per team.
std::vector<Program> inter_layer(const std::vector<TeamWork>& work);
std::vector<Program> gpipe(const std::vector<TeamWork>& work);
std::vector<Program> one_f_one_b(const PipelineShape& shape, const std::vector<TeamWork>& work);

// For grids of any number of chunks.
std::vector<Program> interleaved(const RegularShape& grid);
std::vector<Program> looped_bfs(const RegularShape& grid);

// Evaluation: the forwards alone, in an order that needs one slot for each channel and no more.
std::vector<Program> forwards_of(const std::vector<TeamWork>& work);
std::vector<Program> forwards_of(const RegularShape& grid);

// `warm_up` forwards (or all), then one backward after each further forward, then the other backwards. There
// are as many backwards as forwards.
Program alternate(const Program& forwards, const Program& backwards, std::size_t warm_up);

}  // namespace trireme
