// Reference with which the tests compare verify_programs(). It executes all programs in every order that their
// meaning (trireme/schedule/check.hpp) allows, one state after the other. It does not assume that orders are
// equivalent.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "trireme/schedule/check.hpp"
#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::schedule {

// Number of executed instructions per team.
using ProgramCounters = std::vector<std::size_t>;

// The result of executing programs in every order.
struct Exploration {
    std::string objection;              // why the programs are rejected; empty if accepted
    std::size_t states = 0;             // program counters that were met; 0 if rejected as written
    std::vector<ProgramCounters> ends;  // distinct states in which no team can advance
    Proof proof;                        // counted here; valid if the programs are accepted

    bool is_accepted() const { return objection.empty(); }
};

// Explores programs, one per team of a sound shape. Throws std::length_error if there are more than some tens
// of millions of states (the product of the programs' lengths): time and memory grow with them.
Exploration explore(const std::vector<Program>& programs, const PipelineShape& shape);

}  // namespace trireme::schedule
