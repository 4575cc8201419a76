// Executes a move, together with the other ranks.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "trireme/comm/communicator.hpp"
#include "trireme/mover/move.hpp"

namespace trireme::mover {

// A box of a tensor in this rank's memory: placement.box starts at row placement.row and column
// placement.column of `memory`.
struct BoxInMemory {
    std::string tensor;
    layout::Placement placement;
    device::Tensor memory;
};

// A move in progress, on this rank. Every rank of `group` creates one; the group contains all ranks of the
// move.
class MoveExecution {
public:
    // Copies the boxes that stay on this rank and posts the messages of the first round, without waiting for
    // them. `from` has the boxes that this rank holds, and `to` has the boxes that it will hold; their memory
    // must not overlap. The boxes may be cut differently than those of the move. `move`, `group` and the memory
    // must outlive this object. Throws BugError if `from` or `to` lacks an element of the move. In ghost
    // groups, whose messages have no contents, `from` and `to` may be empty.
    MoveExecution(const Move& move, const std::vector<BoxInMemory>& from, const std::vector<BoxInMemory>& to,
                  device::DType dtype, comm::Communicator& group);
    ~MoveExecution();

    // Completes messages that have arrived or been sent, and begins the next round if all messages of this rank
    // in the round are complete. Never blocks. Returns true if all rounds of this rank are complete.
    bool advance();
    // Waits until all rounds of this rank are complete.
    void finish();

private:
    struct State;
    std::unique_ptr<State> state_;
};

// Collective over `group`. Executes the whole move.
void execute_move(const Move& move, const std::vector<BoxInMemory>& from, const std::vector<BoxInMemory>& to,
                  device::DType dtype, comm::Communicator& group);

// Returns the bytes of the message buffer of rank `rank`.
std::size_t count_message_buffer_bytes(const Move& move, device::DType dtype, int rank);

}  // namespace trireme::mover
