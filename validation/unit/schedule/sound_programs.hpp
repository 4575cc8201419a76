// Small programs that are right, to be damaged: every schedule on shapes of which all orders can be executed.
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
    std::vector<Program> compute;  // of several steps: with the REDUCEs and STEPs between them
};

std::vector<Subject> one_row();         // 1..3 teams, 1..2 chunks or a V, 1..4 micro-batches
std::vector<Subject> two_rows();        // two replicas of up to 3 teams
std::vector<Subject> uneven_stages();   // (2,1) and the like; stages held by teams in other ways than a grid's
std::vector<Subject> forwards_alone();  // all of these without training
std::vector<Subject> two_steps();       // of schedules that end each step before the next
std::vector<Subject> work_in_flight(int steps);  // of those that do not

std::vector<Subject> validated(int steps);  // whose updates are

// Whole programs. In training some of the backwards are divided into halves, the second somewhere later.
std::vector<Program> sound_programs(const Subject& subject, Draw& draw);

}  // namespace trireme::schedule
