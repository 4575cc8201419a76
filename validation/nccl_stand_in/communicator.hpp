// One rank's communicator, and the rules for its use.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "nccl_stand_in/board.hpp"
#include "nccl_stand_in/operation.hpp"
#include "nccl_stand_in/stand_in.hpp"

namespace trireme::nccl_stand_in {

enum class State : std::uint8_t { opens, is_open, finalizes, is_finalized, is_destroyed, is_aborted };

// The operations that one call, or one group of calls, submits to queues.
struct Launch {
    std::vector<std::shared_ptr<Operation>> operations = {};
    int polls_left = 0;  // until the library has submitted it to the queue; before that its state is undefined

    bool is_in_queue() const { return polls_left == 0; }
    void poll();
};

}  // namespace trireme::nccl_stand_in

// NCCL defines the type under this name.
struct ncclComm {
    using State = trireme::nccl_stand_in::State;

    std::string board_name = {};
    trireme::nccl_stand_in::Board* board = nullptr;
    int rank = 0;
    int ranks = 1;
    bool is_blocking = false;
    bool never_opens = false;
    State state = State::opens;
    ncclResult_t failure = ncclSuccess;
    std::string error_text = {};
    std::shared_ptr<trireme::nccl_stand_in::Launch> launch = {};
    std::deque<std::shared_ptr<trireme::nccl_stand_in::Operation>> in_flight = {};

    std::string name() const { return "rank " + std::to_string(rank); }
    bool is_alive() const { return state != State::is_destroyed && state != State::is_aborted; }
    ncclResult_t poll();  // makes progress and returns the state
    void fail(ncclResult_t result, const std::string& what);
    void release_board();  // releases the shared memory

private:
    void poll_opening();
    void drop_finished_operations();
    void check_creation_order() const;
};

namespace trireme::nccl_stand_in {

// State of this process.
struct Process {
    Settings settings = {};
    std::vector<std::string> complaints = {};
    std::vector<std::unique_ptr<ncclComm>> communicators = {};  // includes destroyed ones, to detect their use
    int group_depth = 0;
    Launch group = {};
    std::int64_t creations = 0;
};
Process& process();

ncclResult_t complain(ncclComm* communicator, const std::string& what);  // returns ncclInvalidUsage

}  // namespace trireme::nccl_stand_in
