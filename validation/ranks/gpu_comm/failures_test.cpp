#include <functional>

#include "ranks/comm/view_of.hpp"
#include "ranks/gpu_comm/gpu_group.hpp"

namespace trireme {
namespace {

// Groups with channels between ranks 0 and 1. All other ranks take part without channels.
class NcclFailures : public ::testing::Test {
protected:
    void TearDown() override {
        EXPECT_EQ(gpu_.stand_in.complaints(), std::vector<std::string>());
        MPI_Barrier(MPI_COMM_WORLD);
    }

    std::unique_ptr<comm::Communicator> group(double stall_seconds = 20) {
        return gpu_.nccl("data", {{1, 0}, {0, 1}}, gpu_.wait_policy(stall_seconds));
    }

    static std::string error(const std::function<void()>& action) {
        try {
            action();
        } catch (const ResourceError& refusal) {
            return refusal.what();
        }
        return "nothing";
    }

    static int own_rank() {
        int rank = 0;
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        return rank;
    }

    static void expect_start(const std::string& found, const std::string& start) {
        EXPECT_EQ(found.substr(0, start.size()), start);
    }

    OwnGpu gpu_;
    int rank_ = own_rank();
};

TEST_F(NcclFailures, NameTheRankThatDoesNotOpenAChannel) {
    gpu_.stand_in.settings().never_opens = rank_ == 1;

    const std::string found = error([&] { group(0.5); });

    if (rank_ == 0) {
        expect_start(
            found,
            "waited 0.5 s for rank 1 to open the NCCL channel from rank 0 to rank 1 of the data group; a "
            "rank is dead or stuck");
    }
    if (rank_ == 1) {
        expect_start(
            found,
            "waited 0.5 s for rank 0 to open the NCCL channel from rank 0 to rank 1 of the data group; a "
            "rank is dead or stuck");
    }
    if (rank_ > 1) {
        EXPECT_EQ(found, "nothing");
    }
}

TEST_F(NcclFailures, NameBothRanksAndTheErrorOfNccl) {
    auto own = group();
    OnGpu<float> values(1000, 1);
    gpu_.stand_in.settings().operations_until_failure = rank_ == 0 ? 0 : -1;

    if (rank_ == 0) {
        const std::string found = error([&] { own->wait(std::array{own->start_send(values.tensor(), 1)}); });
        expect_start(found,
                     "the NCCL channel from rank 0 to rank 1 of the data group failed at rank 0: "
                     "an asynchronous operation: unhandled system error (a failure on purpose)");
    }
    if (rank_ == 1) {
        own->set_stall_seconds(0.5);
        const std::string found = error([&] { own->wait(std::array{own->start_receive(values.tensor(), 0)}); });
        expect_start(found, "waited 0.5 s for rank 1's message from rank 0 of the data group");
    }
    MPI_Barrier(MPI_COMM_WORLD);  // ranks 0 and 1 abort, because an orderly end is collective
    if (rank_ <= 1) gpu_.progress_engine.abort_all();
}

TEST_F(NcclFailures, AbortTheMessagesOfAllGroups) {
    auto failing = group();
    auto other = gpu_.nccl("other", {{0, 1}}, gpu_.wait_policy());
    OnGpu<float> values(1000, 1), more(1000, 2);
    if (rank_ == 0) {
        const auto pending = other->start_send(more.tensor(), 1);
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = 0; i < 100; ++i) EXPECT_FALSE(other->is_done(pending));
        gpu_.stand_in.settings().operations_until_failure = 0;

        const auto failed = error([&] { failing->wait(std::array{failing->start_send(values.tensor(), 1)}); });

        EXPECT_NE(failed, "nothing");
        EXPECT_EQ(error([&] { other->is_done(pending); }),
                  "the messages of the other group were aborted, because the job is about to end");
    } else {
        if (rank_ == 1) {  // requests both receives and never makes progress
            failing->start_receive(values.tensor(), 0);
            other->start_receive(more.tensor(), 0);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank_ <= 1) gpu_.progress_engine.abort_all();
}

TEST_F(NcclFailures, NameARankThatHasExited) {
    auto own = group();
    OnGpu<float> values(1000, 1);
    if (rank_ == 1) {
        own->start_receive(values.tensor(), 0);  // and never makes progress
        gpu_.stand_in.disappear();
    }
    MPI_Barrier(MPI_COMM_WORLD);

    if (rank_ == 0) {
        const std::string found = error([&] { own->wait(std::array{own->start_send(values.tensor(), 1)}); });
        expect_start(
            found,
            "the NCCL channel from rank 0 to rank 1 of the data group failed at rank 0: "
            "an asynchronous operation: remote process exited or there was a network error (rank 1 has gone)");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank_ <= 1) gpu_.progress_engine.abort_all();
}

TEST_F(NcclFailures, AreBugErrorsForPairsWithoutAChannel) {
    auto own = gpu_.nccl("data", {{0, 1}}, gpu_.wait_policy());
    OnGpu<float> values(10, 1);
    const std::string expected = "the data group has no NCCL channel from rank 1 to rank 0";

    try {
        if (rank_ == 1) own->start_send(values.tensor(), 0);
        if (rank_ == 0) own->start_receive(values.tensor(), 1);
        EXPECT_GT(rank_, 1);
    } catch (const BugError& error) {
        EXPECT_EQ(error.what(), expected);
    }
}

// If a rank ends by an exception, no rank waits forever and no message remains.
TEST_F(NcclFailures, DoNotBlockIfAnotherErrorDestroysAGroup) {
    OnGpu<float> values(1000, 1);
    try {
        auto own = group();
        if (rank_ == 0) own->start_send(values.tensor(), 1);
        if (rank_ == 1) own->start_receive(values.tensor(), 0);
        MPI_Barrier(MPI_COMM_WORLD);
        throw ConfigError("something else");
    } catch (const ConfigError&) {
        gpu_.queue.wait();
    }
}

TEST(NcclSearch, NamesAVersionThatIsTooOld) {
    const StandIn stand_in;
    stand_in.settings().version = 21'602;

    const comm::NcclSearch search = comm::find_nccl(StandIn::path());

    EXPECT_EQ(search.library, nullptr);
    EXPECT_EQ(search.complaint, "NCCL 2.16.2 is too old; load the module of NCCL 2.18 or later");
}

TEST(NcclSearch, ReportsAMissingLibrary) {
    const comm::NcclSearch search = comm::find_nccl({"libtrireme_no_such.so"});

    EXPECT_EQ(search.library, nullptr);
    EXPECT_EQ(search.complaint.find("sending from GPU to GPU needs libtrireme_no_such.so, which was not found"),
              0U)
        << search.complaint;
}

TEST(NcclSearch, ReportsDifferentVersionsAndSharedGpusOnAllRanks) {
    const StandIn stand_in;
    comm::MpiCommunicator control(MPI_COMM_WORLD, "control", {.stall_seconds = 20});
    if (control.rank() == 1) stand_in.settings().version = 22'105;
    device::GpuFacts own = device::selected_gpu();
    own.bus_id = cat("0000:0", control.rank(), ":00.0");

    const comm::NcclSearch search = comm::find_nccl(StandIn::path());
    const comm::TransportChoice way = choose_transport(control, "here", own, search);
    const comm::TransportChoice of_one_gpu = choose_transport(control, "here", device::selected_gpu(), search);

    EXPECT_FALSE(way.uses_nccl);
    EXPECT_EQ(way.description.find("staged through host memory: the ranks have different versions of NCCL: "
                                   "2.21.5 on rank 1, 99.99.99 on rank"),
              0U)
        << way.description;
    const std::string all = control.size() == 2   ? "0 and 1"
                            : control.size() == 3 ? "0, 1 and 2"
                                                  : "0, 1, 2 and 3";
    EXPECT_EQ(of_one_gpu.description,
              cat("staged through host memory: ranks ", all, " share emulated GPU 0000:01:00.0 of here"));
}

}  // namespace
}  // namespace trireme
