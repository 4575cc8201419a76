#include <signal.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "gpu/nccl_stand_in/two_ranks.hpp"

namespace trireme {
namespace {

using NcclStandIn = TwoRanks;

TEST_F(NcclStandIn, TransfersMessagesOfAnySize) {
    for (const std::size_t bytes : {1U, 0U, 200'000U}) {
        std::ranges::fill(received_, std::byte{});
        EXPECT_EQ(send(0, bytes), ncclInProgress);
        EXPECT_EQ(receive(1, bytes), ncclInProgress);
        EXPECT_EQ(poll_state(0), ncclSuccess);
        EXPECT_EQ(poll_state(1), ncclSuccess);
        EXPECT_TRUE(is_over(mark(0), 10'000));
        EXPECT_TRUE(is_over(mark(1), 10'000));
        EXPECT_EQ(std::memcmp(received_.data(), sent_.data(), bytes), 0);
    }
    EXPECT_EQ(complaints(), "");
}

TEST_F(NcclStandIn, KeepsASendInItsQueueUntilItsReceiveRuns) {
    send(0, 1);
    poll_state(0);
    const device::GpuEvent sent = mark(0);
    EXPECT_FALSE(is_over(sent));

    receive(1, 1);
    EXPECT_FALSE(is_over(sent)) << "the receive is not in its queue yet";
    poll_state(1);

    EXPECT_TRUE(is_over(sent));
    EXPECT_EQ(complaints(), "");
}

TEST_F(NcclStandIn, SubmitsASendOnlyWhenItsCallIsComplete) {
    send(0, 1);
    EXPECT_TRUE(is_over(mark(0)));  // queued before the send

    poll_state(0);
    EXPECT_FALSE(is_over(mark(0)));
}

TEST_F(NcclStandIn, AllowsRanksToSendToEachOtherFirstInAGroup) {
    nccl_.begin_group();
    for (const int rank : {0, 1}) EXPECT_EQ(send(rank, 100'000), ncclSuccess);
    EXPECT_EQ(receive(0, 100'000), ncclSuccess);
    EXPECT_EQ(receive(1, 100'000), ncclSuccess);
    EXPECT_EQ(nccl_.end_group(), ncclInProgress);
    for (const int rank : {0, 1}) EXPECT_EQ(poll_state(rank), ncclSuccess);

    EXPECT_TRUE(is_over(mark(0), 10'000));
    EXPECT_TRUE(is_over(mark(1), 10'000));
    EXPECT_EQ(complaints(), "");
}

TEST_F(NcclStandIn, ReportsRanksThatSendToEachOtherFirst) {
    for (const int rank : {0, 1}) {
        send(rank, 1);
        poll_state(rank);
    }
    poll(10);

    EXPECT_EQ(complaints(),
              "ranks 0 and 1 both send to each other first, outside of a group, and wait for ever");
    for (const int rank : {0, 1}) EXPECT_EQ(poll_state(rank), ncclInvalidUsage);
}

TEST_F(NcclStandIn, ReportsRanksThatReceiveFromEachOtherFirst) {
    for (const int rank : {1, 0}) {
        receive(rank, 1);
        poll_state(rank);
    }
    poll(10);

    EXPECT_EQ(complaints(),
              "ranks 0 and 1 both receive from each other first, outside of a group, and wait for ever");
}

TEST_F(NcclStandIn, ReportsDifferentSizesAndTypes) {
    send(0, 8);
    receive(1, 2, ncclFloat32);
    for (const int rank : {0, 1}) poll_state(rank);
    poll(10);

    EXPECT_EQ(complaints(), "rank 0 sends 8 of int8 to rank 1, which receives 2 of float32");
    EXPECT_EQ(poll_state(0), ncclInvalidUsage);
    EXPECT_EQ(poll_state(1), ncclInvalidUsage);
    EXPECT_STREQ(nccl_.last_error(ranks_[0]), "rank 0 sends 8 of int8 to rank 1, which receives 2 of float32");
}

TEST_F(NcclStandIn, ReportsMessagesToAndFromInvalidRanks) {
    nccl_.send(sent_.data(), 3, ncclInt8, 2, ranks_[0], static_cast<cudaStream_t>(queues_[0].native()));
    nccl_.receive(received_.data(), 3, ncclInt8, 1, ranks_[1], static_cast<cudaStream_t>(queues_[1].native()));

    EXPECT_EQ(complaints(),
              "rank 0 sends 3 of int8 to rank 2 of a communicator of 2\n"
              "rank 1 receives 3 of int8 from rank 1 of a communicator of 2");
}

TEST_F(NcclStandIn, ReportsACallBeforeThePreviousOneIsComplete) {
    send(0, 1);
    send(0, 1);

    EXPECT_EQ(complaints(), "rank 0 calls ncclSend of a communicator whose call before is still in progress");
}

TEST_F(NcclStandIn, ReportsACallOnAnUnopenedCommunicator) {
    const ncclComm_t unopened = begin_to_open(new_id(), 1);

    nccl_.receive(received_.data(), 1, ncclInt8, 0, unopened, static_cast<cudaStream_t>(queues_[0].native()));

    EXPECT_EQ(complaints(), "rank 1 calls ncclRecv of a communicator that is not open yet");
}

TEST_F(NcclStandIn, ReportsACallOnAnEndedCommunicator) {
    nccl_.finalize(ranks_[0]);
    send(0, 1);
    EXPECT_EQ(complaints(), "rank 0 calls ncclSend of a communicator that it has finalized");

    nccl_.abort(ranks_[0]);
    send(0, 1);
    EXPECT_EQ(complaints(), "rank 0 calls ncclSend of a communicator that it has aborted");

    nccl_.destroy(ranks_[1]);
    receive(1, 1);
    EXPECT_EQ(complaints(), "rank 1 calls ncclRecv of a communicator that it has destroyed");
}

TEST_F(NcclStandIn, ReportsACommunicatorThatIsDestroyedDuringASend) {
    send(0, 5);
    poll_state(0);

    nccl_.destroy(ranks_[0]);

    EXPECT_EQ(complaints(), "rank 0 destroys a communicator in which it still sends 5 of int8 to rank 1");
}

TEST_F(NcclStandIn, ReportsACommunicatorThatIsUsedFromTwoQueues) {
    send(0, 1);
    poll_state(0);

    nccl_.send(sent_.data(), 3, ncclInt8, 1, ranks_[0], static_cast<cudaStream_t>(queues_[1].native()));

    EXPECT_EQ(complaints(),
              "rank 0 sends 3 of int8 to rank 1 in another queue than what it sends before, which is not over");
}

TEST_F(NcclStandIn, ReportsRanksThatOpenCommunicatorsInDifferentOrders) {
    const ncclUniqueId first = new_id();
    const ncclUniqueId second = new_id();
    stand_in_.settings().process = 1;
    const std::array of_first{begin_to_open(first, 0), begin_to_open(second, 0)};
    stand_in_.settings().process = 2;
    const std::array of_second{begin_to_open(second, 1), begin_to_open(first, 1)};

    for (const ncclComm_t comm : {of_first[0], of_first[1], of_second[0], of_second[1]}) {
        ncclResult_t state = ncclSuccess;
        nccl_.get_state(comm, &state);
    }

    EXPECT_NE(complaints().find("rank 0 and rank 1 open two communicators in different orders"),
              std::string::npos);
}

TEST_F(NcclStandIn, AllowsRanksToOpenCommunicatorsInTheSameOrder) {
    const ncclUniqueId first = new_id();
    const ncclUniqueId second = new_id();
    stand_in_.settings().process = 1;
    const std::array of_first{begin_to_open(first, 0), begin_to_open(second, 0)};
    stand_in_.settings().process = 2;
    const std::array of_second{begin_to_open(first, 1), begin_to_open(second, 1)};

    for (const ncclComm_t comm : {of_first[0], of_first[1], of_second[0], of_second[1]}) {
        ncclResult_t state = ncclInProgress;
        nccl_.get_state(comm, &state);
        EXPECT_EQ(state, ncclSuccess);
    }

    EXPECT_EQ(complaints(), "");
}

TEST_F(NcclStandIn, ReportsARankThatJoinsTwice) {
    const ncclUniqueId id = new_id();
    begin_to_open(id, 0);
    begin_to_open(id, 0);

    EXPECT_EQ(complaints(), "rank 0 comes twice to one communicator");
}

TEST_F(NcclStandIn, ReportsAnUnknownId) {
    ncclUniqueId id{};
    std::strcpy(id.internal, "nothing");
    begin_to_open(id, 1);

    EXPECT_EQ(complaints(), "rank 1 comes with an unknown id");
}

TEST_F(NcclStandIn, ReportsUndestroyedCommunicatorsAndOpenGroups) {
    nccl_.begin_group();
    nccl_.abort(ranks_[0]);

    const std::vector<std::string> left = stand_in_.complaints();

    EXPECT_EQ(left, (std::vector<std::string>{"rank 1 has not destroyed its communicator of 2",
                                              "a group was begun and not ended"}));
}

TEST_F(NcclStandIn, ReportsTheEndOfAGroupThatWasNotBegun) {
    EXPECT_EQ(nccl_.end_group(), ncclInvalidUsage);
    EXPECT_EQ(complaints(), "a group ends that was not begun");
}

TEST_F(NcclStandIn, ReportsNothingAfterAnOrderlyEnd) {
    for (const ncclComm_t rank : ranks_) EXPECT_EQ(nccl_.finalize(rank), ncclInProgress);
    for (const int rank : {0, 1}) EXPECT_EQ(poll_state(rank), ncclSuccess);
    for (const ncclComm_t rank : ranks_) EXPECT_EQ(nccl_.destroy(rank), ncclSuccess);

    EXPECT_EQ(stand_in_.complaints(), std::vector<std::string>());
}

TEST_F(NcclStandIn, FailsAfterTheConfiguredNumberOfOperations) {
    stand_in_.settings().operations_until_failure = 1;
    send(0, 1);
    EXPECT_EQ(poll_state(0), ncclSuccess);
    send(0, 1);

    EXPECT_EQ(poll_state(0), ncclSystemError);
    EXPECT_FALSE(is_over(mark(0)));
    nccl_.abort(ranks_[0]);
    EXPECT_TRUE(is_over(mark(0)));
}

TEST_F(NcclStandIn, NeverOpensIfConfigured) {
    stand_in_.settings().never_opens = true;
    const ncclUniqueId id = new_id();
    const ncclComm_t first = begin_to_open(id, 0);
    begin_to_open(id, 1);
    ncclResult_t state = ncclSuccess;

    for (int i = 0; i < 100; ++i) nccl_.get_state(first, &state);

    EXPECT_EQ(state, ncclInProgress);
}

TEST_F(NcclStandIn, ReturnsARemoteErrorAfterARankDisappears) {
    send(0, 1);
    poll_state(0);
    stand_in_.disappear();
    poll(10);

    EXPECT_EQ(poll_state(0), ncclRemoteError);
    EXPECT_STREQ(nccl_.last_error(ranks_[0]), "rank 1 has gone");
}

TEST_F(NcclStandIn, ReturnsTheConfiguredVersion) {
    stand_in_.settings().version = 21'602;
    int version = 0;
    nccl_.get_version(&version);

    EXPECT_EQ(version, 21'602);
}

// Counts the stand-in's files in /dev/shm that belong to the given process.
std::size_t files_of(pid_t process) {
    const std::string start = cat("trireme_nccl_", process, "_");
    std::size_t count = 0;
    for (const auto& file : std::filesystem::directory_iterator("/dev/shm"))
        count += file.path().filename().string().rfind(start, 0) == 0 ? 1U : 0U;
    return count;
}

TEST_F(NcclStandIn, LeavesNoFilesInSharedMemory) {
    EXPECT_EQ(files_of(getpid()), 0U) << "both ranks have joined";

    new_id();
    EXPECT_EQ(files_of(getpid()), 1U);
    stand_in_.complaints();

    EXPECT_EQ(files_of(getpid()), 0U);
}

TEST_F(NcclStandIn, RemovesFilesOfKilledProcesses) {
    constexpr pid_t absent_process = 4'194'305;  // above the largest process id of Linux
    std::ofstream(cat("/dev/shm/trireme_nccl_", absent_process, "_0")) << "left";
    ASSERT_EQ(files_of(absent_process), 1U);

    new_id();

    EXPECT_EQ(files_of(absent_process), 0U);
}

}  // namespace
}  // namespace trireme
