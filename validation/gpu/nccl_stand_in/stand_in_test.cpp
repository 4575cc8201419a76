#include <signal.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "gpu/nccl_stand_in/two_ranks.hpp"

namespace trireme {
namespace {

using NcclStandIn = TwoRanks;

TEST_F(NcclStandIn, CarriesBytesInOrderAndWithoutTags) {
    for (const std::size_t bytes : {1U, 0U, 200'000U}) {
        std::ranges::fill(received_, std::byte{});
        EXPECT_EQ(send(0, bytes), ncclInProgress);
        EXPECT_EQ(receive(1, bytes), ncclInProgress);
        EXPECT_EQ(state_of(0), ncclSuccess);
        EXPECT_EQ(state_of(1), ncclSuccess);
        EXPECT_TRUE(is_over(mark(0), 10'000));
        EXPECT_TRUE(is_over(mark(1), 10'000));
        EXPECT_EQ(std::memcmp(received_.data(), sent_.data(), bytes), 0);
    }
    EXPECT_EQ(complaints(), "");
}

TEST_F(NcclStandIn, KeepsASendInItsQueueUntilItsReceiveRuns) {
    send(0, 1);
    state_of(0);
    const device::GpuMoment sent = mark(0);
    EXPECT_FALSE(is_over(sent));

    receive(1, 1);
    EXPECT_FALSE(is_over(sent)) << "the receive is not in its queue yet";
    state_of(1);

    EXPECT_TRUE(is_over(sent));
    EXPECT_EQ(complaints(), "");
}

TEST_F(NcclStandIn, PutsNothingInAQueueBeforeItsCallIsOver) {
    send(0, 1);
    EXPECT_TRUE(is_over(mark(0)));  // queued before the send

    state_of(0);
    EXPECT_FALSE(is_over(mark(0)));
}

TEST_F(NcclStandIn, LetsRanksSendToEachOtherFirstInAGroup) {
    nccl_.begin_group();
    for (const int rank : {0, 1}) EXPECT_EQ(send(rank, 100'000), ncclSuccess);
    EXPECT_EQ(receive(0, 100'000), ncclSuccess);
    EXPECT_EQ(receive(1, 100'000), ncclSuccess);
    EXPECT_EQ(nccl_.end_group(), ncclInProgress);
    for (const int rank : {0, 1}) EXPECT_EQ(state_of(rank), ncclSuccess);

    EXPECT_TRUE(is_over(mark(0), 10'000));
    EXPECT_TRUE(is_over(mark(1), 10'000));
    EXPECT_EQ(complaints(), "");
}

TEST_F(NcclStandIn, NamesRanksThatSendToEachOtherFirst) {
    for (const int rank : {0, 1}) {
        send(rank, 1);
        state_of(rank);
    }
    poll(10);

    EXPECT_EQ(complaints(),
              "ranks 0 and 1 both send to each other first, outside of a group, and wait for ever");
    for (const int rank : {0, 1}) EXPECT_EQ(state_of(rank), ncclInvalidUsage);
}

TEST_F(NcclStandIn, NamesRanksThatReceiveFromEachOtherFirst) {
    for (const int rank : {1, 0}) {
        receive(rank, 1);
        state_of(rank);
    }
    poll(10);

    EXPECT_EQ(complaints(),
              "ranks 0 and 1 both receive from each other first, outside of a group, and wait for ever");
}

TEST_F(NcclStandIn, NamesBothSizesAndTypesThatDiffer) {
    send(0, 8);
    receive(1, 2, ncclFloat32);
    for (const int rank : {0, 1}) state_of(rank);
    poll(10);

    EXPECT_EQ(complaints(), "rank 0 sends 8 of int8 to rank 1, which receives 2 of float32");
    EXPECT_EQ(state_of(0), ncclInvalidUsage);
    EXPECT_EQ(state_of(1), ncclInvalidUsage);
    EXPECT_STREQ(nccl_.last_error(ranks_[0]), "rank 0 sends 8 of int8 to rank 1, which receives 2 of float32");
}

TEST_F(NcclStandIn, NamesARankThatIsNotThere) {
    nccl_.send(sent_.data(), 3, ncclInt8, 2, ranks_[0], static_cast<cudaStream_t>(queues_[0].native()));
    nccl_.receive(received_.data(), 3, ncclInt8, 1, ranks_[1], static_cast<cudaStream_t>(queues_[1].native()));

    EXPECT_EQ(complaints(),
              "rank 0 sends 3 of int8 to rank 2 of a communicator of 2\n"
              "rank 1 receives 3 of int8 from rank 1 of a communicator of 2");
}

TEST_F(NcclStandIn, NamesACallBeforeTheLastOneIsOver) {
    send(0, 1);
    send(0, 1);

    EXPECT_EQ(complaints(), "rank 0 calls ncclSend of a communicator whose call before is still in progress");
}

TEST_F(NcclStandIn, NamesACallOfACommunicatorThatIsNotOpen) {
    const ncclComm_t alone = begin_to_open(new_id(), 1);

    nccl_.receive(received_.data(), 1, ncclInt8, 0, alone, static_cast<cudaStream_t>(queues_[0].native()));

    EXPECT_EQ(complaints(), "rank 1 calls ncclRecv of a communicator that is not open yet");
}

TEST_F(NcclStandIn, NamesACallOfACommunicatorThatHasEnded) {
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

TEST_F(NcclStandIn, NamesACommunicatorThatIsDestroyedTooEarly) {
    send(0, 5);
    state_of(0);

    nccl_.destroy(ranks_[0]);

    EXPECT_EQ(complaints(), "rank 0 destroys a communicator in which it still sends 5 of int8 to rank 1");
}

TEST_F(NcclStandIn, NamesACommunicatorThatIsUsedFromTwoQueues) {
    send(0, 1);
    state_of(0);

    nccl_.send(sent_.data(), 3, ncclInt8, 1, ranks_[0], static_cast<cudaStream_t>(queues_[1].native()));

    EXPECT_EQ(complaints(),
              "rank 0 sends 3 of int8 to rank 1 in another queue than what it sends before, which is not over");
}

TEST_F(NcclStandIn, NamesRanksThatOpenCommunicatorsInDifferentOrders) {
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

TEST_F(NcclStandIn, LetsRanksOpenCommunicatorsInOneOrder) {
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

TEST_F(NcclStandIn, NamesARankThatComesTwice) {
    const ncclUniqueId id = new_id();
    begin_to_open(id, 0);
    begin_to_open(id, 0);

    EXPECT_EQ(complaints(), "rank 0 comes twice to one communicator");
}

TEST_F(NcclStandIn, NamesAnIdThatNobodyMade) {
    ncclUniqueId id{};
    std::strcpy(id.internal, "nothing");
    begin_to_open(id, 1);

    EXPECT_EQ(complaints(), "rank 1 comes with an unknown id");
}

TEST_F(NcclStandIn, NamesWhatIsLeft) {
    nccl_.begin_group();
    nccl_.abort(ranks_[0]);

    const std::vector<std::string> left = stand_in_.complaints();

    EXPECT_EQ(left, (std::vector<std::string>{"rank 1 has not destroyed its communicator of 2",
                                              "a group was begun and not ended"}));
}

TEST_F(NcclStandIn, NamesAGroupThatWasNotBegun) {
    EXPECT_EQ(nccl_.end_group(), ncclInvalidUsage);
    EXPECT_EQ(complaints(), "a group ends that was not begun");
}

TEST_F(NcclStandIn, EndsOrderlyWhereAllIsOver) {
    for (const ncclComm_t rank : ranks_) EXPECT_EQ(nccl_.finalize(rank), ncclInProgress);
    for (const int rank : {0, 1}) EXPECT_EQ(state_of(rank), ncclSuccess);
    for (const ncclComm_t rank : ranks_) EXPECT_EQ(nccl_.destroy(rank), ncclSuccess);

    EXPECT_EQ(stand_in_.complaints(), std::vector<std::string>());
}

TEST_F(NcclStandIn, FailsOnPurpose) {
    stand_in_.settings().operations_until_failure = 1;
    send(0, 1);
    EXPECT_EQ(state_of(0), ncclSuccess);
    send(0, 1);

    EXPECT_EQ(state_of(0), ncclSystemError);
    EXPECT_FALSE(is_over(mark(0)));
    nccl_.abort(ranks_[0]);
    EXPECT_TRUE(is_over(mark(0)));
}

TEST_F(NcclStandIn, NeverOpensOnPurpose) {
    stand_in_.settings().never_opens = true;
    const ncclUniqueId id = new_id();
    const ncclComm_t first = begin_to_open(id, 0);
    begin_to_open(id, 1);
    ncclResult_t state = ncclSuccess;

    for (int i = 0; i < 100; ++i) nccl_.get_state(first, &state);

    EXPECT_EQ(state, ncclInProgress);
}

TEST_F(NcclStandIn, DisappearsOnPurpose) {
    send(0, 1);
    state_of(0);
    stand_in_.disappear();
    poll(10);

    EXPECT_EQ(state_of(0), ncclRemoteError);
    EXPECT_STREQ(nccl_.last_error(ranks_[0]), "rank 1 has gone");
}

TEST_F(NcclStandIn, IsOfAnotherVersionOnPurpose) {
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

TEST_F(NcclStandIn, LeavesNoFilesBehind) {
    EXPECT_EQ(files_of(getpid()), 0U) << "both ranks have come";

    new_id();
    EXPECT_EQ(files_of(getpid()), 1U);
    stand_in_.complaints();

    EXPECT_EQ(files_of(getpid()), 0U);
}

TEST_F(NcclStandIn, RemovesFilesOfAProcessThatWasKilled) {
    constexpr pid_t of_nobody = 4'194'305;  // above the largest process id of Linux
    std::ofstream(cat("/dev/shm/trireme_nccl_", of_nobody, "_0")) << "left";
    ASSERT_EQ(files_of(of_nobody), 1U);

    new_id();

    EXPECT_EQ(files_of(of_nobody), 0U);
}

}  // namespace
}  // namespace trireme
