// Test fixture with two ranks of the NCCL stand-in in one process, each with its own queue.
#pragma once

#include <gtest/gtest.h>
#include <nccl.h>

#include <array>
#include <string>
#include <vector>

#include "nccl_stand_in/stand_in_library.hpp"
#include "trireme/device/gpu.hpp"

namespace trireme {

// NCCL's functions, loaded from the stand-in.
struct NcclCalls {
    decltype(&ncclGetVersion) get_version = nullptr;
    decltype(&ncclGetUniqueId) get_unique_id = nullptr;
    decltype(&ncclCommInitRankConfig) open = nullptr;
    decltype(&ncclCommGetAsyncError) get_state = nullptr;
    decltype(&ncclSend) send = nullptr;
    decltype(&ncclRecv) receive = nullptr;
    decltype(&ncclGroupStart) begin_group = nullptr;
    decltype(&ncclGroupEnd) end_group = nullptr;
    decltype(&ncclCommFinalize) finalize = nullptr;
    decltype(&ncclCommDestroy) destroy = nullptr;
    decltype(&ncclCommAbort) abort = nullptr;
    decltype(&ncclGetLastError) last_error = nullptr;

    NcclCalls();

private:
    device::SharedLibrary library_{StandIn::path(), "a test"};
};

class TwoRanks : public ::testing::Test {
protected:
    void SetUp() override { open_both(); }
    void TearDown() override;

    ncclComm_t begin_to_open(const ncclUniqueId& id, int rank) const;
    ncclUniqueId new_id() const;
    void open_both();

    // Polls until the state is not "in progress" any more.
    ncclResult_t poll_state(int rank);
    void poll(int times);
    bool is_over(const device::GpuEvent& moment, int polls = 100);

    // Send to the other rank, and receive from it; the bytes are 1, 2, ...
    ncclResult_t send(int from, std::size_t bytes, ncclDataType_t type = ncclInt8);
    ncclResult_t receive(int to, std::size_t bytes, ncclDataType_t type = ncclInt8);
    device::GpuEvent mark(int rank);
    // Returns all complaints since the last call, one sentence per line.
    std::string complaints();

    NcclCalls nccl_ = {};
    StandIn stand_in_ = {};
    std::array<ncclComm_t, 2> ranks_ = {};
    std::array<device::GpuQueue, 2> queues_ = {device::GpuQueue::make_non_blocking(), device::GpuQueue::make_non_blocking()};
    std::vector<std::byte> sent_ = std::vector<std::byte>(300'000);
    std::vector<std::byte> received_ = std::vector<std::byte>(300'000);
};

}  // namespace trireme
