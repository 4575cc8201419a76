// Schedules: generators of programs that hold compute instructions only.
#pragma once

#include <string>
#include <vector>

#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/phases.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme {

//   inter_layer   one micro-batch after the other passes all stages, forward and back
//   gpipe         all forwards, then all backwards                (Huang et al., 2019)
//   one_f_one_b   a warm-up, then one forward, one backward       (Narayanan et al., 2019)
//   interleaved   1F1B over several chunks for each team          (Narayanan et al., 2021)
//   looped_bfs    breadth first over the chunks                   (Lamy-Poirier, 2022)
//   zb_h1         1F1B with weight halves put off                 (Qi et al., 2024)
//   zb_h2         likewise, with twice the activations            (Qi et al., 2024)
//   zb_v          weight halves put off, two chunks in a V        (Qi et al., 2024)
//
// The last three update before all gradients are known, and validate that when they are, so that teams do not
// wait for one another at the end of a step.
//
// Without a flush, so that gradients are of weights some updates ago:
//   pipedream           1F1B; each stage by itself is updated, and keeps old weights   (Narayanan et al., 2019)
//   pipedream_vertical  likewise, but all stages use weights of one age                (there, section 3.3)
//   pipedream_2bw       all stages use the weights of one update ago                   (Narayanan et al., 2021)
enum class ScheduleKind : std::uint8_t {
    inter_layer,
    gpipe,
    one_f_one_b,
    interleaved,
    looped_bfs,
    zb_h1,
    zb_h2,
    zb_v,
    pipedream,
    pipedream_vertical,
    pipedream_2bw
};

const char* name_of(ScheduleKind kind);                // "1f1b"
ScheduleKind schedule_named(const std::string& name);  // throws ConfigError, naming the nearest known one
std::vector<std::string> known_schedules();

bool uses_older_weights(ScheduleKind kind);
bool updates_stages_alone(ScheduleKind kind);

// The shape with what the schedule's updates wait for: see PipelineShape. Where a team holds all stages there is
// nothing to validate.
PipelineShape with_updates_of(ScheduleKind kind, PipelineShape shape);

// One program for each team, of the compute instructions alone, in the order that the schedule gives them.
// Forward-only shapes get the forwards. Throws ConfigError, naming the nearest allowed shape, where the
// schedule is not made for the shape: chunks need interleaved or looped-bfs, or zb-v if they lie in a V; those
// need a grid, and so do zb-h1 and zb-h2; and so on.
std::vector<Program> generate(ScheduleKind kind, const PipelineShape& shape);

// Of many steps, as phases, for with_updates_of(kind, shape); `shape` is of one step. Schedules that keep work in
// flight over the end of a step have their REDUCEs, STEPs and VALIDATEs, and their instructions the ages of their
// weights. Throws ConfigError as generate() does.
Phases generate_phases(ScheduleKind kind, const PipelineShape& shape);

}  // namespace trireme
