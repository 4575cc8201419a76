// Equal rows of teams, as in a grid with several replicas. Each row executes the same programs with
// micro-batches of its own, so that what is true of the first row is true of all.
#pragma once

#include <optional>
#include <vector>

#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::schedule {

// The first of several equal rows. Team t of row d is team d * shape.teams + t of the whole shape.
struct FirstRow {
    int rows = 1;
    PipelineShape shape;
    std::vector<Program> programs;

    // Returns the instruction of row `row` that corresponds to `instruction` of the first row.
    Instruction in_row(int row, Instruction instruction) const;
    std::vector<Program> programs_of_all() const;
};

// Returns nothing if there is only one row, or if rows differ in teams, micro-batches, bounds or programs.
std::optional<FirstRow> first_of_equal_rows(const std::vector<Program>& programs, const PipelineShape& shape);

}  // namespace trireme::schedule
