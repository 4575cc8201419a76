// Executes a move; all ranks do so together.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "trireme/comm/communicator.hpp"
#include "trireme/mover/move.hpp"

namespace trireme::mover {

// A box of a tensor in this rank's memory: it starts at the placement's row and column of `memory`.
struct BoxInMemory {
    std::string tensor;
    layout::Placement placement;
    device::Tensor memory;
};

// This rank's part of a move in progress. Every rank of `group` creates one; the group contains all ranks of
// the move.
class Journey {
public:
    // Copies the boxes that stay on this rank and starts the first round without waiting. `from` has the boxes
    // that this rank holds, and `to` the memory of those that it will hold; they must not overlap. The boxes
    // may be cut differently than those of the move. `move`, `group` and both memories must outlive this
    // object. Throws BugError if the boxes lack an element that the move names. In ghost groups, which carry no
    // values, `from` and `to` may be empty.
    Journey(const Move& move, const std::vector<BoxInMemory>& from, const std::vector<BoxInMemory>& to,
            device::DType dtype, comm::Communicator& group);
    ~Journey();

    // Advances pending messages and starts what can be started. Never blocks. Returns true if this rank is
    // done.
    bool advance();
    // Waits until this rank is done.
    void finish();

private:
    struct State;
    std::unique_ptr<State> state_;
};

// Collective over `group`. Executes the whole move.
void carry_out(const Move& move, const std::vector<BoxInMemory>& from, const std::vector<BoxInMemory>& to,
               device::DType dtype, comm::Communicator& group);

// Returns the bytes of this rank's message buffer.
std::size_t bytes_in_flight(const Move& move, device::DType dtype, int rank);

}  // namespace trireme::mover
