// Finds the peers of messages and the work that a rollback repeats, and describes positions in programs.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::schedule {

// Returns the team at the other end of a send or a receive. The stage of the other end must exist in the shape.
int find_peer(const Instruction& message, const PipelineShape& shape);

// Return the instruction at the other end of the message: the send of a receive, and the receive of a send.
Instruction find_send(const Instruction& receive);
Instruction find_receive(const Instruction& send);

std::string format_ordinal(std::size_t number);  // "1st" for 1, "12th" for 12

// Describes the instruction at `position`, from 0, in the program of `team`: for example "2F0, the 7th
// instruction of team 1" for position 6.
std::string describe_position(const std::vector<Program>& programs, int team, std::size_t position);

// A set of instructions that have a micro-batch, compared without their ages.
class WorkSet {
public:
    void add(const Instruction& i) { keys_.insert({i.op, i.stage, i.microbatch}); }
    bool contains(const Instruction& i) const { return keys_.contains({i.op, i.stage, i.microbatch}); }

private:
    std::set<std::tuple<Op, int, int>> keys_;
};

// Returns the passes and messages of all teams between a STEP and the next VALIDATE: they are repeated after a
// rollback. Updates must be speculative.
WorkSet find_repeated_work(const std::vector<Program>& programs);

}  // namespace trireme::schedule
