// Pipelines to execute: shapes, schedules and teams.
#pragma once

#include <string>
#include <vector>

#include "trireme/layout/layout.hpp"
#include "trireme/schedule/generate.hpp"
#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::pipeline {

struct Trial {
    schedule::Schedule schedule = schedule::schedule_named("1f1b");
    schedule::PipelineShape shape = {};
    std::vector<layout::Team> teams = {};  // ranks from 0
    std::vector<std::size_t> rows = {};    // of each micro-batch
    std::size_t width = 3;
    bool are_rows_cut = false;
    bool halves_backward = false;  // into I, and W behind the next I

    int ranks() const;
    std::string name() const;
};

// Programs for each team, proved with as few slots as can be; and the shape with these.
struct TrialPrograms {
    schedule::PipelineShape shape;
    std::vector<schedule::Program> programs;
};

TrialPrograms prove(const Trial& trial, bool is_training);

// Consecutive ranks, as many for each team as are named.
std::vector<layout::Team> teams_of_sizes(const std::vector<int>& sizes);

std::vector<Trial> every_schedule();    // on grids of 1 to 8 ranks, one rank a team
std::vector<Trial> uneven_replicas();   // (2,1), (3,3,2) and others
std::vector<Trial> teams_of_ranks();    // of unlike sizes, with whole rows and with rows that are cut
std::vector<Trial> empty_and_large();   // micro-batches without rows; messages beyond what libraries buffer
std::vector<Trial> divided_backward();  // I and W in place of B

}  // namespace trireme::pipeline
