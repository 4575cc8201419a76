// Schedules: generators of programs that hold compute instructions only.
#pragma once

#include <string>
#include <vector>

#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme {

//   inter_layer   one micro-batch after the other passes all stages, forward and back
//   gpipe         all forwards, then all backwards                (Huang et al., 2019)
//   one_f_one_b   a warm-up, then one forward, one backward       (Narayanan et al., 2019)
//   interleaved   1F1B over several chunks for each team          (Narayanan et al., 2021)
//   looped_bfs    breadth first over the chunks                   (Lamy-Poirier, 2022)
enum class ScheduleKind : std::uint8_t { inter_layer, gpipe, one_f_one_b, interleaved, looped_bfs };

const char* name_of(ScheduleKind kind);                // "1f1b"
ScheduleKind schedule_named(const std::string& name);  // throws ConfigError, naming the nearest known one
std::vector<std::string> known_schedules();

// One program for each team, of the compute instructions alone, in the order that the schedule gives them.
// Forward-only shapes get the forwards. Throws ConfigError, naming the nearest allowed shape, where the
// schedule is not made for the shape: chunks need interleaved or looped-bfs; those two need a grid; and so on.
std::vector<Program> generate(ScheduleKind kind, const PipelineShape& shape);

}  // namespace trireme
