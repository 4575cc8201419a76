// Queries about the instructions of programs.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::schedule {

// Returns the team at the other end of a send or a receive.
int peer_of(const Instruction& message, const PipelineShape& shape);

// Return the instruction at the other end of the message.
Instruction send_of(const Instruction& receive);
Instruction receive_of(const Instruction& send);

std::string ordinal(std::size_t number);  // "1st" for 1, "12th" for 12

// Returns "2F0, the 7th instruction of team 1" for the instruction at `position`, counted from 0.
std::string describe_position(const std::vector<Program>& programs, int team, std::size_t position);

// A set of instructions that have a micro-batch. Ages are ignored.
class WorkSet {
public:
    void add(const Instruction& i) { names_.insert({i.op, i.stage, i.microbatch}); }
    bool has(const Instruction& i) const { return names_.contains({i.op, i.stage, i.microbatch}); }

private:
    std::set<std::tuple<Op, int, int>> names_;
};

// Returns the work between a STEP and the next VALIDATE, which is repeated after a rollback.
WorkSet done_again(const std::vector<Program>& programs);

}  // namespace trireme::schedule
