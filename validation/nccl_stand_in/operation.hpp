// A send or a receive, as a queue executes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "nccl_stand_in/board.hpp"

namespace trireme::nccl_stand_in {

class Operation {
public:
    bool is_send = false;
    std::byte* memory = nullptr;
    std::uint64_t count = 0;
    ncclDataType_t type = ncclInt8;
    int peer = 0;
    ncclComm* communicator = nullptr;
    void* stream = nullptr;
    bool is_in_group = false;

    // Makes some progress. Returns true if the operation is over. It never ends in a communicator that has
    // failed and is not aborted.
    bool step();
    bool is_over() const { return is_over_; }
    std::string text() const;  // "sends 12 of int8 to rank 1"

private:
    bool advance();
    bool try_post();
    bool is_paired() const;
    bool matches_peer() const;
    void check_for_deadlock() const;
    bool send_chunk();
    bool receive_chunk();

    Lane& lane() const;
    Lane& reverse_lane() const;
    std::uint64_t bytes() const;

    std::uint64_t number_ = 0;  // position in its lane, from 1; 0 before it begins
    std::uint64_t bytes_done_ = 0;
    bool is_over_ = false;
};

std::string to_string(std::int32_t type);  // "int8"

}  // namespace trireme::nccl_stand_in
