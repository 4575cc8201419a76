#include "nccl_stand_in/operation.hpp"

#include <algorithm>
#include <cstring>

#include "nccl_stand_in/communicator.hpp"

namespace trireme::nccl_stand_in {
namespace {

std::uint64_t byte_size(std::int32_t type) {
    switch (type) {
        case ncclInt8:
        case ncclUint8:
        case ncclFloat8e4m3:
        case ncclFloat8e5m2:
            return 1;
        case ncclFloat16:
        case ncclBfloat16:
            return 2;
        case ncclInt64:
        case ncclUint64:
        case ncclFloat64:
            return 8;
        default:
            return 4;
    }
}

std::string describe(const char* what, const Posted& posted, const std::string& end) {
    return std::string(what) + " " + std::to_string(posted.count) + " of " + to_string(posted.type) + end;
}

}  // namespace

std::string to_string(std::int32_t type) {
    switch (type) {
        case ncclInt8:
            return "int8";
        case ncclFloat32:
            return "float32";
        default:
            return "type " + std::to_string(type);
    }
}

std::string Operation::text() const {
    const Posted own{.count = count, .type = type, .is_in_group = is_in_group};
    return describe(is_send ? "sends" : "receives", own,
                    (is_send ? " to rank " : " from rank ") + std::to_string(peer));
}

Lane& Operation::lane() const {
    const int own = communicator->rank;
    return is_send ? communicator->board->lane(own, peer) : communicator->board->lane(peer, own);
}

Lane& Operation::reverse_lane() const {
    const int own = communicator->rank;
    return is_send ? communicator->board->lane(peer, own) : communicator->board->lane(own, peer);
}

std::uint64_t Operation::bytes() const { return count * byte_size(type); }

bool Operation::step() {
    if (is_over_ || communicator->state == State::is_aborted) return true;
    if (communicator->failure != ncclSuccess) return false;
    is_over_ = advance();
    return is_over_;
}

bool Operation::advance() {
    if (const char* const what = communicator->board->complaint_text()) {
        communicator->fail(ncclInvalidUsage, what);
        return false;
    }
    if (!try_post()) return false;
    if (!is_paired()) {
        check_for_deadlock();
        return false;
    }
    if (!matches_peer()) {
        const Lane& own = lane();
        const std::string from = std::to_string(is_send ? communicator->rank : peer);
        const std::string to = std::to_string(is_send ? peer : communicator->rank);
        complain(communicator,
                 describe(("rank " + from + " sends").c_str(), own.send[number_ % 2], " to rank ") + to +
                     describe(", which receives", own.receive[number_ % 2], ""));
        return false;
    }
    return is_send ? send_chunk() : receive_chunk();
}

// Posts the operation once all earlier ones in its lane are done. Returns true if it is posted.
bool Operation::try_post() {
    Lane& own = lane();
    std::atomic<std::uint64_t>& posted = is_send ? own.sends : own.receives;
    if (number_ != 0) return true;
    if (posted != own.receives_done) return false;
    number_ = posted + 1;
    (is_send ? own.send : own.receive)[number_ % 2] = {
        .count = count, .type = type, .is_in_group = is_in_group};
    posted = number_;
    return true;
}

bool Operation::is_paired() const {
    const Lane& own = lane();
    return (is_send ? own.receives : own.sends) >= number_;
}

bool Operation::matches_peer() const {
    const Lane& own = lane();
    const Posted& sent = own.send[number_ % 2];
    const Posted& received = own.receive[number_ % 2];
    return sent.count == received.count && sent.type == received.type;
}

// Detects two ranks that both send first, or both receive first, outside a group: neither reaches the call that
// the other one waits for.
void Operation::check_for_deadlock() const {
    if (communicator->board->seat(peer).is_gone != 0) {
        communicator->fail(ncclRemoteError, "rank " + std::to_string(peer) + " has gone");
        return;
    }
    const Lane& back = reverse_lane();
    const bool does_peer_wait =
        is_send ? back.sends > back.receives && !back.send[back.sends % 2].is_in_group
                : back.receives > back.sends && !back.receive[back.receives % 2].is_in_group;
    if (!does_peer_wait || is_in_group) return;
    const auto [first, second] = std::minmax(communicator->rank, peer);
    complain(communicator, "ranks " + std::to_string(first) + " and " + std::to_string(second) + " both " +
                               (is_send ? "send to" : "receive from") +
                               " each other first, outside of a group, and wait for ever");
}

bool Operation::send_chunk() {
    Lane& own = lane();
    if (own.receives_done >= number_) return true;
    if (own.bytes_written != own.bytes_read || bytes_done_ == bytes()) return false;
    const std::size_t part = std::min<std::size_t>(Lane::chunk_bytes, bytes() - bytes_done_);
    std::memcpy(own.chunk.data(), memory + bytes_done_, part);
    bytes_done_ += part;
    own.bytes_written += part;
    return false;
}

bool Operation::receive_chunk() {
    Lane& own = lane();
    const std::uint64_t part = own.bytes_written - own.bytes_read;
    std::memcpy(memory + bytes_done_, own.chunk.data(), part);
    bytes_done_ += part;
    own.bytes_read += part;
    if (bytes_done_ == bytes()) ++own.receives_done;
    return bytes_done_ == bytes();
}

}  // namespace trireme::nccl_stand_in
