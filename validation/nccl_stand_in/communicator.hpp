// A communicator as one rank has it, and the rules of what it may be used for.
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

// What one call, or one group of calls, gives to a queue.
struct Launch {
    std::vector<std::shared_ptr<Operation>> operations = {};
    int polls_left = 0;  // until the library has given it to the queue: nobody knows before

    bool is_in_queue() const { return polls_left == 0; }
    void poll();
};

}  // namespace trireme::nccl_stand_in

// NCCL's own name for it.
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
    std::string words = {};  // of the failure
    std::shared_ptr<trireme::nccl_stand_in::Launch> launch = {};
    std::deque<std::shared_ptr<trireme::nccl_stand_in::Operation>> in_flight = {};

    std::string name() const { return "rank " + std::to_string(rank); }
    bool is_alive() const { return state != State::is_destroyed && state != State::is_aborted; }
    ncclResult_t poll();  // goes on with what it is at, and says what state it is in
    void fail(ncclResult_t result, const std::string& what);
    void let_go();  // of what it shares

private:
    void poll_opening();
    void forget_what_is_over();
    void require_one_order_of_creation() const;
};

namespace trireme::nccl_stand_in {

// Of this process.
struct Process {
    Settings settings = {};
    std::vector<std::string> complaints = {};
    std::vector<std::unique_ptr<ncclComm>> communicators = {};  // destroyed ones, too: who uses them is found
    int group_depth = 0;
    Launch group = {};
    std::int64_t creations = 0;
};
Process& process();

ncclResult_t complain(ncclComm* communicator, const std::string& what);  // ncclInvalidUsage

}  // namespace trireme::nccl_stand_in
