// The NCCL functions that Trireme uses, and those of stand_in.hpp.
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

#include "nccl_stand_in/communicator.hpp"

namespace trireme::nccl_stand_in {
namespace {

constexpr int polls_per_call = 3;  // polls until a call completes, to detect callers that do not poll

bool is_known(const ncclComm* communicator) {
    return std::ranges::any_of(process().communicators,
                               [&](const auto& own) { return own.get() == communicator; });
}

// Returns nothing if the communicator may be used. Only ncclCommGetAsyncError completes a pending call.
std::optional<ncclResult_t> refusal(ncclComm* communicator, const std::string& call) {
    if (!is_known(communicator)) return complain(nullptr, "a call of " + call + " of no communicator");
    const auto refuse = [&](const std::string& why) {
        return complain(communicator, communicator->name() + " calls " + call + " of a communicator " + why);
    };
    if (communicator->state == State::is_destroyed) return refuse("that it has destroyed");
    if (communicator->state == State::is_aborted) return refuse("that it has aborted");
    if (communicator->state == State::opens) return refuse("that is not open yet");
    if (communicator->state != State::is_open) return refuse("that it has finalized");
    if (communicator->launch != nullptr) return refuse("whose call before is still in progress");
    if (communicator->failure != ncclSuccess) return communicator->failure;
    return std::nullopt;
}

std::optional<ncclResult_t> refusal(const Operation& operation) {
    ncclComm& own = *operation.communicator;
    if (operation.peer < 0 || operation.peer >= own.ranks || operation.peer == own.rank) {
        return complain(
            &own, own.name() + " " + operation.text() + " of a communicator of " + std::to_string(own.ranks));
    }
    for (const auto& earlier : own.in_flight) {
        if (earlier->is_over() || earlier->stream == operation.stream) continue;
        return complain(&own, own.name() + " " + operation.text() + " in another queue than what it " +
                                  earlier->text().substr(0, earlier->text().find(' ')) +
                                  " before, which is not over");
    }
    return std::nullopt;
}

ncclResult_t submit(Launch gathered) {
    if (gathered.operations.empty()) return ncclSuccess;
    gathered.polls_left = polls_per_call;
    const auto launch = std::make_shared<Launch>(std::move(gathered));
    bool is_any_blocking = false;
    for (const auto& operation : launch->operations) {
        operation->communicator->launch = launch;
        operation->communicator->in_flight.push_back(operation);
        is_any_blocking |= operation->communicator->is_blocking;
    }
    while (is_any_blocking && !launch->is_in_queue()) launch->poll();
    return is_any_blocking ? ncclSuccess : ncclInProgress;
}

ncclResult_t start(const char* call, const Operation& operation) {
    if (const auto refused = refusal(operation.communicator, call)) return *refused;
    if (const auto refused = refusal(operation)) return *refused;
    int& operations_left = process().settings.operations_until_failure;
    if (operations_left >= 0 && operations_left-- == 0)
        operation.communicator->fail(ncclSystemError, "a failure on purpose");
    const auto own = std::make_shared<Operation>(operation);
    own->is_in_group = process().group_depth > 0;
    if (!own->is_in_group) return submit({.operations = {own}});
    process().group.operations.push_back(own);
    return ncclSuccess;
}

void join_communicator(ncclComm& own) {
    Seat& seat = own.board->seat(own.rank);
    if (seat.is_taken.exchange(1) != 0) {
        complain(&own, own.name() + " comes twice to one communicator");
        return;
    }
    const std::int64_t pretended = process().settings.process;
    seat.process = pretended == 0 ? getpid() : pretended;
    seat.creation = process().creations++;
    ++own.board->taken;
}

ncclResult_t open(ncclComm_t* made, int ranks, const ncclUniqueId& id, int rank, const ncclConfig_t* config) {
    if (ranks < 1 || ranks > max_ranks || rank < 0 || rank >= ranks)
        return complain(nullptr,
                        "rank " + std::to_string(rank) + " opens a communicator of " + std::to_string(ranks));
    auto own = std::make_unique<ncclComm>();
    own->board_name = id.internal;
    own->board = open_board(own->board_name);
    if (own->board == nullptr)
        return complain(nullptr, "rank " + std::to_string(rank) + " comes with an unknown id");
    own->rank = rank;
    own->ranks = ranks;
    own->is_blocking = config == nullptr || config->blocking != 0;
    own->never_opens = process().settings.never_opens;
    if (!own->never_opens) join_communicator(*own);
    *made = own.get();
    process().communicators.push_back(std::move(own));
    while ((*made)->is_blocking && (*made)->poll() == ncclInProgress) usleep(100);
    return (*made)->is_blocking ? (*made)->failure : ncclInProgress;
}

ncclResult_t finalize(ncclComm* own) {
    if (const auto refused = refusal(own, "ncclCommFinalize")) return *refused;
    own->state = State::finalizes;
    return ncclInProgress;
}

ncclResult_t destroy(ncclComm* own) {
    const bool may_be = is_known(own) && own->state == State::is_finalized;
    if (!may_be) {
        if (const auto refused = refusal(own, "ncclCommDestroy")) return *refused;
    }
    own->poll();
    if (!own->in_flight.empty()) {
        return complain(
            own, own->name() + " destroys a communicator in which it still " + own->in_flight.front()->text());
    }
    own->release_board();
    own->state = State::is_destroyed;
    return ncclSuccess;
}

ncclResult_t abort(ncclComm* own) {
    if (!is_known(own) || !own->is_alive()) {
        if (const auto refused = refusal(own, "ncclCommAbort")) return *refused;
    }
    own->state = State::is_aborted;
    own->release_board();
    return ncclSuccess;
}

void report_leftovers() {
    Process& own = process();
    for (const auto& communicator : own.communicators) {
        if (!communicator->is_alive()) continue;
        own.complaints.push_back(communicator->name() + " has not destroyed its communicator of " +
                                 std::to_string(communicator->ranks));
        abort(communicator.get());
    }
    if (own.group_depth > 0) own.complaints.push_back("a group was begun and not ended");
    own.group_depth = 0;
    own.group = {};
}

}  // namespace
}  // namespace trireme::nccl_stand_in

using namespace trireme::nccl_stand_in;

#pragma GCC visibility push(default)
extern "C" {

ncclResult_t ncclGetVersion(int* version) {
    *version = process().settings.version;
    return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t result) {
    switch (result) {
        case ncclSystemError:
            return "unhandled system error";
        case ncclInvalidUsage:
            return "invalid usage";
        case ncclRemoteError:
            return "remote process exited or there was a network error";
        default:
            return "no error";
    }
}

const char* ncclGetLastError(ncclComm_t comm) { return comm == nullptr ? "" : comm->error_text.c_str(); }

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
    const std::string name = make_board();
    if (name.empty()) return ncclSystemError;
    *id = {};
    std::strncpy(id->internal, name.c_str(), sizeof id->internal - 1);
    return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
    return open(comm, ranks, id, rank, config);
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* state) {
    if (!is_known(comm) || !comm->is_alive()) {
        if (const auto refused = refusal(comm, "ncclCommGetAsyncError")) return *refused;
    }
    *state = comm->poll();
    return ncclSuccess;
}

ncclResult_t ncclSend(const void* memory, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
    Operation operation;
    operation.is_send = true;
    operation.memory = static_cast<std::byte*>(const_cast<void*>(memory));
    operation.count = count;
    operation.type = type;
    operation.peer = peer;
    operation.communicator = comm;
    operation.stream = stream;
    return start("ncclSend", operation);
}

ncclResult_t ncclRecv(void* memory, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
    Operation operation;
    operation.memory = static_cast<std::byte*>(memory);
    operation.count = count;
    operation.type = type;
    operation.peer = peer;
    operation.communicator = comm;
    operation.stream = stream;
    return start("ncclRecv", operation);
}

ncclResult_t ncclGroupStart() {
    ++process().group_depth;
    return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
    if (process().group_depth == 0) return complain(nullptr, "a group ends that was not begun");
    return --process().group_depth > 0 ? ncclSuccess : submit(std::exchange(process().group, {}));
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) { return finalize(comm); }
ncclResult_t ncclCommDestroy(ncclComm_t comm) { return destroy(comm); }
ncclResult_t ncclCommAbort(ncclComm_t comm) { return abort(comm); }

Settings* nccl_stand_in_settings() { return &process().settings; }
std::vector<std::string>* nccl_stand_in_complaints() { return &process().complaints; }

void nccl_stand_in_forget_all() {
    report_leftovers();
    process().settings = {.submit_until = process().settings.submit_until};
    remove_own_boards();
}

void nccl_stand_in_disappear() {
    for (const auto& communicator : process().communicators)
        if (communicator->board != nullptr) communicator->board->seat(communicator->rank).is_gone = 1;
}

}  // extern "C"
#pragma GCC visibility pop
