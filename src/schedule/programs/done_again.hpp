// What is done again where an update turns out to have guessed wrong.
#pragma once

#include <set>
#include <tuple>
#include <vector>

#include "trireme/schedule/instruction.hpp"

namespace trireme {

// Instructions that have a micro-batch, whatever their ages.
class WorkSet {
public:
    void add(const Instruction& i) { names_.insert({i.op, i.stage, i.micro_batch}); }
    bool has(const Instruction& i) const { return names_.contains({i.op, i.stage, i.micro_batch}); }

private:
    std::set<std::tuple<Op, int, int>> names_;
};

// All that stands behind a STEP and has no VALIDATE between them.
WorkSet done_again(const std::vector<Program>& programs);

}  // namespace trireme
