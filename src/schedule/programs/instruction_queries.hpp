// Questions about the instructions of programs.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::schedule {

// Returns the team at the other end of a send or a receive, and the message there.
int peer_of(const Instruction& message, const PipelineShape& shape);

Instruction send_of(const Instruction& receive);
Instruction receive_of(const Instruction& send);

std::string ordinal(std::size_t number);  // "1st" of 1, "12th" of 12

// "2F0, the 7th instruction of team 1": the one at `position`, which counts from 0.
std::string describe_position(const std::vector<Program>& programs, int team, std::size_t position);

// A set of instructions that have a micro-batch, whatever their ages.
class WorkSet {
public:
    void add(const Instruction& i) { names_.insert({i.op, i.stage, i.microbatch}); }
    bool has(const Instruction& i) const { return names_.contains({i.op, i.stage, i.microbatch}); }

private:
    std::set<std::tuple<Op, int, int>> names_;
};

// The work after a STEP and before the next VALIDATE, which is done again if the update turns out to be wrong.
WorkSet done_again(const std::vector<Program>& programs);

}  // namespace trireme::schedule
