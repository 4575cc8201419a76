// Pipelines for the tests of the engine: shapes, schedules and teams.
#pragma once

#include <string>
#include <vector>

#include "trireme/layout/layout.hpp"
#include "trireme/schedule/generate.hpp"
#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::pipeline {

struct Trial {
    schedule::Schedule schedule = schedule::require_schedule("1f1b");
    schedule::PipelineShape shape = {};
    std::vector<layout::Team> teams = {};  // ranks count from 0
    std::vector<std::size_t> rows = {};    // per micro-batch
    std::size_t width = 3;
    bool are_rows_cut = false;
    bool halves_backward = false;  // into I and W; W runs after the next I

    int ranks() const;
    std::string name() const;
};

// Programs per team, proved with the smallest sufficient number of slots, and the shape with that number.
struct TrialPrograms {
    schedule::PipelineShape shape;
    std::vector<schedule::Program> programs;
};

TrialPrograms prove(const Trial& trial, bool is_training);

// Returns teams of consecutive ranks with the given sizes.
std::vector<layout::Team> make_teams(const std::vector<int>& sizes);

std::vector<Trial> every_schedule();         // on grids of 1 to 8 ranks, one rank per team
std::vector<Trial> uneven_replicas();        // (2,1), (3,3,2) and others
std::vector<Trial> find_teams_of_ranks();    // of different sizes, with and without divided rows
std::vector<Trial> empty_and_large();        // empty micro-batches; messages too large for MPI's buffers
std::vector<Trial> split_backward_trials();  // I and W instead of B

}  // namespace trireme::pipeline
