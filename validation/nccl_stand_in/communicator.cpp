#include "nccl_stand_in/communicator.hpp"

#include <algorithm>
#include <set>
#include <utility>

using trireme::nccl_stand_in::complain;
using trireme::nccl_stand_in::process;
using trireme::nccl_stand_in::Seat;

namespace trireme::nccl_stand_in {

Process& process() {
    static Process own;
    return own;
}

ncclResult_t complain(ncclComm* communicator, const std::string& what) {
    process().complaints.push_back(what);
    if (communicator == nullptr) return ncclInvalidUsage;
    if (communicator->board != nullptr) communicator->board->complain(what);
    communicator->fail(ncclInvalidUsage, what);
    return ncclInvalidUsage;
}

// All operations of a group begin together, in whatever queues they are. Those of one queue are one job of it.
void Launch::poll() {
    if (polls_left == 0 || --polls_left > 0) return;
    std::set<void*> streams;
    for (const auto& operation : operations) streams.insert(operation->stream);
    for (void* const stream : streams) {
        process().settings.submit_until(stream, [all = operations, stream] {
            bool is_over = true;
            for (const auto& operation : all)
                if (operation->stream == stream) is_over &= operation->step();
            return is_over;
        });
    }
}

}  // namespace trireme::nccl_stand_in

ncclResult_t ncclComm::poll() {
    if (state == State::opens) poll_opening();
    if (launch != nullptr) launch->poll();
    if (launch != nullptr && launch->is_in_queue()) launch = nullptr;
    drop_finished_operations();
    if (state == State::finalizes && in_flight.empty()) state = State::is_finalized;
    if (failure != ncclSuccess) return failure;
    const bool is_busy = state == State::opens || state == State::finalizes || launch != nullptr;
    return is_busy ? ncclInProgress : ncclSuccess;
}

void ncclComm::poll_opening() {
    if (never_opens || failure != ncclSuccess || board->taken < ranks) return;
    trireme::nccl_stand_in::remove_board(board_name);
    check_creation_order();
    state = State::is_open;
}

void ncclComm::drop_finished_operations() {
    while (!in_flight.empty() && in_flight.front()->is_over()) in_flight.pop_front();
}

// Checks that this process and each other process opened the communicators that they share in the same order.
void ncclComm::check_creation_order() const {
    const Seat& own = board->seat(rank);
    for (const auto& earlier : process().communicators) {
        if (earlier.get() == this || earlier->board == nullptr || earlier->state == State::opens) continue;
        const Seat& own_earlier = earlier->board->seat(earlier->rank);
        if (own_earlier.process != own.process) continue;
        for (int other = 0; other < ranks; ++other) {
            const Seat& theirs = board->seat(other);
            for (int theirs_earlier = 0; theirs_earlier < earlier->ranks; ++theirs_earlier) {
                const Seat& before = earlier->board->seat(theirs_earlier);
                if (theirs.process == own.process || before.process != theirs.process) continue;
                if ((own_earlier.creation < own.creation) == (before.creation < theirs.creation)) continue;
                complain(const_cast<ncclComm*>(this), name() + " and rank " + std::to_string(other) +
                                                          " open two communicators in different orders");
                return;
            }
        }
    }
}

void ncclComm::fail(ncclResult_t result, const std::string& what) {
    if (failure != ncclSuccess) return;
    failure = result;
    error_text = what;
}

void ncclComm::release_board() {
    trireme::nccl_stand_in::remove_board(board_name);
    if (board != nullptr) trireme::nccl_stand_in::close_board(std::exchange(board, nullptr));
    in_flight.clear();
    launch = nullptr;
}
