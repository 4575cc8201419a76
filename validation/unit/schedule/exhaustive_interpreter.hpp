// The judge beside which the tests put check(): it executes all programs in every order that their meaning
// (trireme/schedule/check.hpp) allows, one state after the other, and assumes nothing about orders being alike.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "trireme/schedule/check.hpp"
#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::schedule {

// How far each team is: the number of its instructions that have run.
using ProgramCounters = std::vector<std::size_t>;

struct Exploration {
    std::string objection;              // why the programs are rejected; empty: they are accepted
    std::size_t states = 0;             // program counters that were met; 0: rejected as written
    std::vector<ProgramCounters> ends;  // the different ones at which no team can go on
    Proof proof;                        // counted here, where the programs are accepted

    bool is_accepted() const { return objection.empty(); }
};

// Wants one program for each team of a sound shape. Throws std::length_error where the product of the programs'
// lengths passes some tens of millions: time and memory grow with it.
Exploration explore(const std::vector<Program>& programs, const PipelineShape& shape);

}  // namespace trireme::schedule
