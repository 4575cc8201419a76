// What the processes of a communicator share.
#pragma once

#include <nccl.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace trireme::nccl_stand_in {

constexpr int most_ranks = 4;

struct Posted {
    std::uint64_t count = 0;
    std::int32_t type = 0;
    bool is_in_group = false;
};

// From one rank to another: sends and receives are matched in the order of each side, without tags. What it
// counts is since the communicator was made.
struct Lane {
    static constexpr std::size_t chunk_bytes = 65'536;

    // by the sender; the last one and the one before, which the other side may still look at
    std::array<Posted, 2> send;
    std::atomic<std::uint64_t> sends;
    std::atomic<std::uint64_t> bytes_written;
    // by the receiver
    std::array<Posted, 2> receive;
    std::atomic<std::uint64_t> receives;
    std::atomic<std::uint64_t> receives_done;
    std::atomic<std::uint64_t> bytes_read;

    std::array<std::byte, chunk_bytes> chunk;
};

struct Seat {
    std::atomic<int> is_taken;
    std::int64_t process;   // where it sits
    std::int64_t creation;  // the number of the communicator there
    std::atomic<int> is_gone;
};

struct Board {
    std::atomic<int> ranks;  // 0: nobody has come
    std::atomic<int> taken;
    std::atomic<int> complaint_state;  // 0: none; 1: it is written; 2: it is there
    std::array<char, 400> complaint;
    std::array<Seat, most_ranks> seats;
    std::array<std::array<Lane, most_ranks>, most_ranks> lanes;  // [from][to]

    Lane& lane(int from, int to) { return lanes[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)]; }
    Seat& seat(int rank) { return seats[static_cast<std::size_t>(rank)]; }

    // The first one counts.
    void complain(const std::string& what);
    const char* what_is_wrong() const { return complaint_state == 2 ? complaint.data() : nullptr; }
};

// Files in /dev/shm. One is there until all ranks have come, and not longer than the process that made it: what
// a process left that was killed, the next one removes.
std::string make_board();
Board* open_board(const std::string& name);  // null where there is none
void close_board(Board* board);
void remove_board(const std::string& name);
void remove_own_boards();

}  // namespace trireme::nccl_stand_in
