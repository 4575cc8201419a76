// Executes a move, together with the other ranks.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "trireme/comm/communicator.hpp"
#include "trireme/mover/move.hpp"

namespace trireme::mover {

// A box of a tensor in this rank's memory: the first element of placement.box is at row placement.row and
// column placement.column of `memory`.
struct BoxInMemory {
    std::string tensor;  // name
    layout::Placement placement;
    device::Tensor memory;  // not owned
};

// A move in progress, on this rank. Collective over `group`: every rank of the group creates an object. The
// rank numbers of the move are those of the group.
class MoveExecution {
public:
    // Copies the boxes that stay on this rank and posts the messages of the first round, without waiting for
    // these messages. `from` has the boxes that this rank holds before the move, and `to` has the boxes that
    // the rank holds after the move. The memory of `from` and of `to` must not overlap. The boxes of `from` and
    // `to` may be cut differently from the boxes of the move. In ghost groups, whose messages have no contents,
    // `from` and `to` may be empty. The constructor, advance() and finish() throw BugError if `from` or `to`
    // lacks an element that must be copied. `move`, `group` and the memory must outlive this object. The object
    // must not be destroyed before all rounds of this rank are complete.
    MoveExecution(const Move& move, const std::vector<BoxInMemory>& from, const std::vector<BoxInMemory>& to,
                  device::DType dtype, comm::Communicator& group);
    ~MoveExecution();

    // Tests the pending messages, and begins the next round if all messages of this rank in the current round
    // are complete. Never waits for a message. Returns true if all rounds of this rank are complete.
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

// Returns the bytes of the message buffer of rank `rank`: the largest number of bytes that the rank sends plus
// receives in a round.
std::size_t count_message_buffer_bytes(const Move& move, device::DType dtype, int rank);

}  // namespace trireme::mover
