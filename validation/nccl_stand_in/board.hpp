// Memory that the processes of a communicator share.
#pragma once

#include <nccl.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace trireme::nccl_stand_in {

constexpr int max_ranks = 4;

// A send or a receive as one side has announced it.
struct Posted {
    std::uint64_t count = 0;
    std::int32_t type = 0;
    bool is_in_group = false;
};

// Messages from one rank to another: sends and receives are matched in the order of each side, without tags.
// All counters start when the communicator is made.
struct Lane {
    static constexpr std::size_t chunk_bytes = 65'536;

    // Written by the sender: the latest two sends, because the receiver may still read the previous one.
    std::array<Posted, 2> send;
    std::atomic<std::uint64_t> sends;
    std::atomic<std::uint64_t> bytes_written;
    // Written by the receiver.
    std::array<Posted, 2> receive;
    std::atomic<std::uint64_t> receives;
    std::atomic<std::uint64_t> receives_done;
    std::atomic<std::uint64_t> bytes_read;

    std::array<std::byte, chunk_bytes> chunk;
};

// One rank of a communicator.
struct Seat {
    std::atomic<int> is_taken;
    std::int64_t process;   // process id of the rank
    std::int64_t creation;  // number of the communicator in that process
    std::atomic<int> is_gone;
};

// The shared memory of one communicator.
struct Board {
    std::atomic<int> ranks;  // 0 if no rank has joined
    std::atomic<int> taken;
    std::atomic<int> complaint_state;  // 0: no complaint; 1: being written; 2: complete
    std::array<char, 400> complaint;
    std::array<Seat, max_ranks> seats;
    std::array<std::array<Lane, max_ranks>, max_ranks> lanes;  // [from][to]

    Lane& lane(int from, int to) { return lanes[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)]; }
    Seat& seat(int rank) { return seats[static_cast<std::size_t>(rank)]; }

    // Records a complaint; only the first one is kept.
    void complain(const std::string& what);
    const char* complaint_text() const { return complaint_state == 2 ? complaint.data() : nullptr; }
};

// Boards are files in /dev/shm. A board exists until all ranks have joined, and at most as long as the process
// that made it: boards of killed processes are removed by the next process that makes one.
std::string make_board();
Board* open_board(const std::string& name);  // null if it does not exist
void close_board(Board* board);
void remove_board(const std::string& name);
void remove_own_boards();

}  // namespace trireme::nccl_stand_in
