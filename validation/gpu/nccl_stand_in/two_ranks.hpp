// Two ranks of the stand-in in one process, each with a queue of its own.
#pragma once

#include <gtest/gtest.h>
#include <nccl.h>

#include <array>
#include <string>
#include <vector>

#include "nccl_stand_in/stand_in_library.hpp"
#include "trireme/device/gpu.hpp"

namespace trireme {

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

    // Until it says something other than "in progress"; goes on with the queues.
    ncclResult_t state_of(int rank);
    void poll(int times);
    bool is_over(const device::GpuMoment& moment, int polls = 100);

    // To the other rank, from it; of bytes that are 1, 2, ...
    ncclResult_t send(int from, std::size_t bytes, ncclDataType_t type = ncclInt8);
    ncclResult_t receive(int to, std::size_t bytes, ncclDataType_t type = ncclInt8);
    device::GpuMoment mark(int rank);
    // All that it complained of since the last time, one sentence a line.
    std::string complaints();

    NcclCalls nccl_ = {};
    StandIn stand_in_ = {};
    std::array<ncclComm_t, 2> ranks_ = {};
    std::array<device::GpuQueue, 2> queues_ = {device::GpuQueue::alone(), device::GpuQueue::alone()};
    std::vector<std::byte> sent_ = std::vector<std::byte>(300'000);
    std::vector<std::byte> received_ = std::vector<std::byte>(300'000);
};

}  // namespace trireme
