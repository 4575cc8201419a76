// Small sound programs for tests to damage: every schedule, on shapes small enough to execute in all orders.
#pragma once

#include <string>
#include <vector>

#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/pipeline_shape.hpp"
#include "unit/schedule/program_damage.hpp"

namespace trireme::schedule {

struct Subject {
    std::string name;  // "pipe 2, replicas 1, chunks 2, micro-batches 4, steps 1, 1 slots, interleaved"
    PipelineShape shape;
    std::vector<Program> compute;  // several steps include the REDUCEs and STEPs between them
};

std::vector<Subject> one_row();                  // 1..3 teams, 1..2 chunks or a V, 1..4 micro-batches
std::vector<Subject> two_rows();                 // two replicas of 1..2 teams
std::vector<Subject> uneven_stages();            // (2,1) and similar; stages spread over teams unlike any grid
std::vector<Subject> forward_only_subjects();    // similar shapes without training
std::vector<Subject> two_steps();                // two steps of schedules that end each step before the next
std::vector<Subject> work_in_flight(int steps);  // schedules that do not

std::vector<Subject> with_frozen_stages(int steps);  // programs whose first stages are frozen

std::vector<Subject> validated(int steps);  // programs with validated updates

// Returns complete programs. One training subject in three has some backwards split, with the weight half
// somewhere later.
std::vector<Program> draw_sound_programs(const Subject& subject, Draw& draw);

}  // namespace trireme::schedule
