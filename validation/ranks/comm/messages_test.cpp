#include <gtest/gtest.h>
#include <mpi.h>

#include <array>
#include <limits>
#include <numeric>

#include "comm/mpi/mpi_communicator.hpp"
#include "ranks/comm/view_of.hpp"

namespace trireme::comm {
namespace {

constexpr device::WaitPolicy wait_policy{.stall_seconds = 20};

// Every rank sends to the next rank and receives from the previous one.
class Messages : public ::testing::Test {
protected:
    MpiCommunicator own_{MPI_COMM_WORLD, "test", wait_policy};
    Communicator& group_ = own_;
    int right_ = (own_.rank() + 1) % own_.size();
    int left_ = (own_.rank() + own_.size() - 1) % own_.size();

    void wait(Communicator::RequestId id) { group_.wait(std::array{id}); }

    // Waits for a message and returns the text of the mismatch, or "nothing".
    std::string mismatch(Communicator::RequestId id, Label expected, Label arrived) {
        try {
            wait(id);
        } catch (const MessageMismatch& error) {
            EXPECT_EQ(error.expected, expected);
            EXPECT_EQ(error.arrived, arrived);
            return error.what();
        }
        return "nothing";
    }

    std::string sentence(const std::string& expected, const std::string& arrived) const {
        return cat("rank ", own_.rank(), " of the test group waited for message ", expected,
                   " bytes from rank ", left_, ", but message ", arrived,
                   " bytes came; the two ranks send and receive in different orders");
    }

    // Sends `sent` bytes to the right and receives `expected` bytes from the left. Returns the text of the
    // mismatch, or "nothing".
    std::string exchange(std::size_t sent, std::size_t expected) {
        std::vector<float> values(sent / sizeof(float));
        std::vector<float> received(expected / sizeof(float));
        const auto receipt = group_.start_receive(make_view(received), left_, 5);
        const auto dispatch = group_.start_send(make_view(values), right_, 5);
        const std::string found = mismatch(receipt, 5, 5);
        wait(dispatch);
        return found;
    }
};

TEST_F(Messages, ArriveInTheOrderTheyWereSent) {
    std::vector<double> first{1.0 + own_.rank()}, second{-1.0 - own_.rank()}, got_first(1), got_second(1);

    const std::vector<Communicator::RequestId> ids{
        group_.start_receive(make_view(got_first), left_), group_.start_receive(make_view(got_second), left_),
        group_.start_send(make_view(first), right_), group_.start_send(make_view(second), right_)};
    group_.wait(ids);

    EXPECT_EQ(got_first[0], 1.0 + left_);
    EXPECT_EQ(got_second[0], -1.0 - left_);
    EXPECT_EQ(group_.traffic().bytes_sent, 2 * sizeof(double));
}

TEST_F(Messages, MayCarryAnyLabel) {
    constexpr auto largest = std::numeric_limits<Label>::max();
    for (const Label label : {0, 1, 32768, 1 << 29, largest, -1, -largest}) {
        std::vector<double> value{0.5 + own_.rank()}, got(1);

        const auto receipt = group_.start_receive(make_view(got), left_, label);
        group_.wait(std::array{group_.start_send(make_view(value), right_, label), receipt});

        EXPECT_EQ(got[0], 0.5 + left_) << "label " << label;
    }
}

TEST_F(Messages, AreReportedIfReceivedInADifferentOrder) {
    std::vector<double> first{1}, second{2}, got_first(1), got_second(1);
    const auto wait_for_7 = group_.start_receive(make_view(got_first), left_, 7);
    const auto wait_for_8 = group_.start_receive(make_view(got_second), left_, 8);
    const std::array sends{group_.start_send(make_view(first), right_, 8),
                           group_.start_send(make_view(second), right_, 7)};

    EXPECT_EQ(mismatch(wait_for_7, 7, 8), sentence("7 of 8", "8 of 8"));
    EXPECT_EQ(mismatch(wait_for_8, 8, 7), sentence("8 of 8", "7 of 8"));
    group_.wait(sends);
}

TEST_F(Messages, AreReportedIfTooShort) {
    EXPECT_EQ(exchange(4, 12), sentence("5 of 12", "5 of 4"));
    EXPECT_EQ(exchange(0, 12), sentence("5 of 12", "5 of 0"));
    EXPECT_EQ(exchange(400'000, 800'000), sentence("5 of 800000", "5 of 400000"));
}

TEST_F(Messages, AreReportedIfTooLong) {
    EXPECT_EQ(exchange(12, 4), sentence("5 of 4", "5 of more than 4"));
    EXPECT_EQ(exchange(12, 0), sentence("5 of 0", "5 of more than 0"));
    EXPECT_EQ(exchange(800'000, 400'000), sentence("5 of 400000", "5 of more than 400000"));
}

TEST_F(Messages, ArriveAfterAMismatchedMessage) {
    exchange(12, 4);

    EXPECT_EQ(exchange(8, 8), "nothing");
}

TEST_F(Messages, AreNoLongerInFlightOnceDone) {
    std::vector<double> value{1}, got(1);
    const auto receipt = group_.start_receive(make_view(got), left_);
    group_.wait(std::array{group_.start_send(make_view(value), right_), receipt});

    try {
        group_.is_done(receipt);
        FAIL() << "a request was accepted twice";
    } catch (const BugError& error) {
        EXPECT_EQ(std::string(error.what()), cat("message ", receipt, " of the test group is not in flight"));
    }
}

TEST_F(Messages, AreNamedIfTheyDoNotArriveInTime) {
    MpiCommunicator impatient(MPI_COMM_WORLD, "data", {.stall_seconds = 0.05, .expects_stall = true});
    std::vector<double> never{0};
    const auto id = impatient.start_receive(make_view(never), left_, 0);

    try {
        impatient.wait(std::array{id});
        FAIL() << "a message arrived that no rank sent";
    } catch (const ResourceError& error) {
        const std::string expected =
            cat("waited 0.05 s for rank ", own_.rank(), "'s message from rank ", left_, " of the data group");
        EXPECT_EQ(std::string(error.what()).substr(0, expected.size()), expected);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    std::vector<double> late{0};  // so that no receive is left
    impatient.wait(std::array{impatient.start_send(make_view(late), right_, 0), id});
}

// Messages are sent in parts of 1000 bytes: none, less than one, one, two, and two and a half.
class SplitMessages : public ::testing::TestWithParam<std::size_t> {};

TEST_P(SplitMessages, ArriveComplete) {
    MpiCommunicator own(MPI_COMM_WORLD, "test", wait_policy, 1000);
    Communicator& group = own;
    const int right = (own.rank() + 1) % own.size();
    const int left = (own.rank() + own.size() - 1) % own.size();
    std::vector<float> values(GetParam() / sizeof(float)), expected(values.size()), got(values.size());
    std::iota(values.begin(), values.end(), static_cast<float>(1000 * own.rank()));
    std::iota(expected.begin(), expected.end(), static_cast<float>(1000 * left));
    std::vector<float> last{-1}, got_last(1);

    const std::vector<Communicator::RequestId> ids{
        group.start_receive(make_view(got), left, 1), group.start_receive(make_view(got_last), left, 2),
        group.start_send(make_view(values), right, 1), group.start_send(make_view(last), right, 2)};
    group.wait(ids);

    EXPECT_EQ(got, expected);
    EXPECT_EQ(got_last, last);
}

INSTANTIATE_TEST_SUITE_P(Sizes, SplitMessages, ::testing::Values(0, 8, 1000, 2000, 2500));

TEST(SplitMessage, IsReportedIfTooShort) {
    MpiCommunicator own(MPI_COMM_WORLD, "test", wait_policy, 1000);
    Communicator& group = own;
    const int right = (own.rank() + 1) % own.size();
    const int left = (own.rank() + own.size() - 1) % own.size();
    std::vector<float> values(600), got(625);
    const auto receipt = group.start_receive(make_view(got), left);
    const auto dispatch = group.start_send(make_view(values), right);

    try {
        group.wait(std::array{receipt});
        FAIL() << "2400 bytes were accepted as 2500";
    } catch (const MessageMismatch& error) {
        const std::string expected =
            cat("message 0 of 2500 bytes from rank ", left, ", but message 0 of 2400 bytes came");
        EXPECT_NE(std::string(error.what()).find(expected), std::string::npos) << error.what();
    }
    group.wait(std::array{dispatch});
}

}  // namespace
}  // namespace trireme::comm
