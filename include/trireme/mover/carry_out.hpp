// A move, done by all ranks together.
#pragma once

#include <string>
#include <vector>

#include "trireme/comm/communicator.hpp"
#include "trireme/mover/move.hpp"

namespace trireme {

// Where in the memory of this rank a box of a tensor is: `memory` has it at the placement's row and column.
struct BoxInMemory {
    std::string tensor;
    Placement placement;
    Tensor memory;
};

// Collective over `group`, which has all ranks that the move names. `from` is what this rank has, `to` the
// memory of what it is to have, elsewhere than that; both in boxes that may be cut in other ways than the
// move's. Throws BugError where either lacks something that the move names.
void carry_out(const Move& move, const std::vector<BoxInMemory>& from, const std::vector<BoxInMemory>& to,
               DType dtype, Communicator& group);

// Bytes of the memory in which boxes travel.
std::size_t bytes_in_flight(const Move& move, DType dtype, int rank);

}  // namespace trireme
