// A move, done by all ranks together.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "trireme/comm/communicator.hpp"
#include "trireme/mover/move.hpp"

namespace trireme::mover {

// Where in the memory of this rank a box of a tensor is: `memory` has it at the placement's row and column.
struct BoxInMemory {
    std::string tensor;
    layout::Placement placement;
    device::Tensor memory;
};

// A rank's part of a move on its way. Every rank of `group`, which has all that the move names, makes one.
class Journey {
public:
    // Brings what stays to its new place and starts the first round; waits for nobody. `from` is what this rank
    // has, `to` the memory of what it is to have, elsewhere than that; both in boxes that may be cut in other
    // ways than the move's. `move`, `group` and both memories outlive it. Throws BugError where a box lacks
    // something that the move names. Of a group that carries no values it needs neither box.
    Journey(const Move& move, const std::vector<BoxInMemory>& from, const std::vector<BoxInMemory>& to,
            device::DType dtype, comm::Communicator& group);
    ~Journey();

    // Lets messages go on, and starts what can be started. Never waits. Whether all is done, here.
    bool advance();
    // Waits until it is.
    void finish();

private:
    struct State;
    std::unique_ptr<State> state_;
};

// Collective over `group`. From beginning to end.
void carry_out(const Move& move, const std::vector<BoxInMemory>& from, const std::vector<BoxInMemory>& to,
               device::DType dtype, comm::Communicator& group);

// Bytes of the memory in which boxes travel.
std::size_t bytes_in_flight(const Move& move, device::DType dtype, int rank);

}  // namespace trireme::mover
