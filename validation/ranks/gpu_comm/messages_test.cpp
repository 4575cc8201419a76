#include <algorithm>
#include <deque>
#include <functional>
#include <limits>
#include <numeric>

#include "ranks/comm/view_of.hpp"
#include "ranks/gpu_comm/gpu_group.hpp"
#include "trireme/base/random.hpp"
#include "trireme/comm/collectives.hpp"

namespace trireme {
namespace {

// Every rank sends to the next rank and receives from the previous one.
class GpuTensorMessages : public GpuGroups {
protected:
    // Sends `sent` bytes to the right and receives `expected` bytes from the left. Returns the error message,
    // or "nothing".
    std::string exchange(std::size_t sent, std::size_t expected, comm::Label sent_label = 5) {
        OnGpu<float> values(sent / sizeof(float), 1), received(expected / sizeof(float));
        const auto receipt = group_->start_receive(received.tensor(), left_, 5);
        const auto dispatch = group_->start_send(values.tensor(), right_, sent_label);
        const std::string found = mismatch(receipt, 5, sent_label);
        wait({dispatch});
        return found;
    }

    std::string mismatch(comm::Communicator::RequestId id, comm::Label expected, comm::Label arrived) {
        try {
            wait({id});
        } catch (const comm::MessageMismatch& error) {
            EXPECT_EQ(error.expected, expected);
            EXPECT_EQ(error.arrived, arrived);
            return error.what();
        }
        return "nothing";
    }

    void expect_mismatch(const std::string& found, const std::string& expected, const std::string& arrived) {
        const std::string start = cat("rank ", group_->rank(), " of the test group waited for message ",
                                      expected, " bytes from rank ", left_, ", but message ", arrived);
        EXPECT_EQ(found.substr(0, start.size()), start);
    }

    static std::vector<float> counted_from(int first, std::size_t elements) {
        std::vector<float> values(elements);
        std::iota(values.begin(), values.end(), static_cast<float>(first));
        return values;
    }
};

TEST_P(GpuTensorMessages, ArriveInTheOrderTheyWereSent) {
    OnGpu<double> first(1, 1.0 + group_->rank()), second(2, -1.0 - group_->rank()), third(1, 7);
    OnGpu<double> got_first(1), got_second(2), got_third(1);

    wait({group_->start_receive(got_first.tensor(), left_), group_->start_receive(got_second.tensor(), left_),
          group_->start_send(first.tensor(), right_), group_->start_send(second.tensor(), right_),
          group_->start_receive(got_third.tensor(), left_), group_->start_send(third.tensor(), right_)});

    EXPECT_EQ(got_first.values(), std::vector<double>(1, 1.0 + left_));
    EXPECT_EQ(got_second.values(), std::vector<double>(2, -1.0 - left_));
    EXPECT_EQ(got_third.values(), std::vector<double>(1, 7));
    EXPECT_EQ(group_->traffic().bytes_sent, 4 * sizeof(double));
}

// The messages are too large for the internal buffers of a library, and all ranks send before they receive.
TEST_P(GpuTensorMessages, DoNotDeadlockIfAllRanksSendFirst) {
    constexpr std::size_t elements = 600'000;
    OnGpu<float> own(counted_from(1000 * group_->rank(), elements));
    std::vector<OnGpu<float>> got;
    for (int peer = 0; peer < group_->size(); ++peer) got.emplace_back(elements);
    std::vector<comm::Communicator::RequestId> ids;

    for (int peer = 0; peer < group_->size(); ++peer)
        if (peer != group_->rank()) ids.push_back(group_->start_send(own.tensor(), peer, 3));
    for (int peer = 0; peer < group_->size(); ++peer) {
        if (peer == group_->rank()) continue;
        ids.push_back(group_->start_receive(got[static_cast<std::size_t>(peer)].tensor(), peer, 3));
    }
    group_->wait(ids);

    for (int peer = 0; peer < group_->size(); ++peer) {
        if (peer == group_->rank()) continue;
        EXPECT_EQ(got[static_cast<std::size_t>(peer)].values(), counted_from(1000 * peer, elements));
    }
}

TEST_P(GpuTensorMessages, MayBeEmpty) {
    OnGpu<float> nothing(0), got_nothing(0), value(1, 2), got(1);

    wait({group_->start_send(nothing.tensor(), right_, 1), group_->start_send(value.tensor(), right_, 2),
          group_->start_receive(got_nothing.tensor(), left_, 1),
          group_->start_receive(got.tensor(), left_, 2)});

    EXPECT_EQ(got.values(), std::vector<float>(1, 2));
}

TEST_P(GpuTensorMessages, MayCarryAnyLabel) {
    constexpr auto largest = std::numeric_limits<comm::Label>::max();
    for (const comm::Label label : {0, 1, 32768, 1 << 29, largest, -1, -largest}) {
        OnGpu<float> value(1, 0.5F + static_cast<float>(group_->rank())), got(1);

        wait({group_->start_receive(got.tensor(), left_, label),
              group_->start_send(value.tensor(), right_, label)});

        EXPECT_EQ(got.values().front(), 0.5F + static_cast<float>(left_)) << "label " << label;
    }
}

TEST_P(GpuTensorMessages, KeepTheirOrderAmongHostMessages) {
    OnGpu<float> first(1000, 1), third(1, 3), got_first(1000), got_third(1);
    std::vector<float> second{2}, fourth{4}, got_second(1), got_fourth(1);

    wait({group_->start_send(first.tensor(), right_), group_->start_send(comm::make_view(second), right_),
          group_->start_send(third.tensor(), right_), group_->start_send(comm::make_view(fourth), right_),
          group_->start_receive(got_first.tensor(), left_),
          group_->start_receive(comm::make_view(got_second), left_),
          group_->start_receive(got_third.tensor(), left_),
          group_->start_receive(comm::make_view(got_fourth), left_)});

    EXPECT_EQ(got_first.values(), std::vector<float>(1000, 1));
    EXPECT_EQ(got_second, second);
    EXPECT_EQ(got_third.values(), std::vector<float>(1, 3));
    EXPECT_EQ(got_fourth, fourth);
}

TEST_P(GpuTensorMessages, AreOrderedWithCopiesOfTheGpuQueue) {
    constexpr std::size_t bytes = 4000;
    const Pinned before(bytes), after(bytes);
    std::ranges::fill(before.floats(), 1.0F + static_cast<float>(group_->rank()));
    OnGpu<float> value(bytes / sizeof(float)), got(bytes / sizeof(float));

    gpu_.queue.copy(value.tensor().data, before.data(), bytes);
    const auto dispatch = group_->start_send(value.tensor(), right_);
    wait({group_->start_receive(got.tensor(), left_), dispatch});
    gpu_.queue.copy(after.data(), got.tensor().data, bytes);
    gpu_.queue.wait();

    for (const float element : after.floats()) ASSERT_EQ(element, 1.0F + static_cast<float>(left_));
}

TEST_P(GpuTensorMessages, AllowReuseOfTheirMemoryOnceDone) {
    OnGpu<float> value(1000, 6), got(1000);

    const auto receipt = group_->start_receive(got.tensor(), left_);
    wait({group_->start_send(value.tensor(), right_)});
    gpu_.queue.clear(value.tensor().data, value.tensor().bytes());
    gpu_.queue.wait();
    wait({receipt});

    EXPECT_EQ(got.values(), std::vector<float>(1000, 6));
}

TEST_P(GpuTensorMessages, ArriveAfterQueuedReadsOfTheirMemory) {
    constexpr std::size_t bytes = 4000;
    const Pinned read(bytes);
    comm::MpiCommunicator control(MPI_COMM_WORLD, "control", gpu_.wait_policy());
    OnGpu<float> value(bytes / sizeof(float), 6), got(bytes / sizeof(float), 5);

    const auto dispatch = group_->start_send(value.tensor(), right_);
    gpu_.queue.copy(read.data(), got.tensor().data, bytes);
    wait({group_->start_receive(got.tensor(), left_), dispatch});
    barrier(control);  // all messages have been sent, hence received
    gpu_.queue.wait();

    for (const float element : read.floats()) ASSERT_EQ(element, 5);
    EXPECT_EQ(got.values(), std::vector<float>(bytes / sizeof(float), 6));
}

// A stage waits for gradients in the same way while its activations are in flight.
TEST_P(GpuTensorMessages, ProgressWhileTheirRankWaitsInAnotherGroup) {
    const auto gradients = gpu_.group(GetParam(), "gradients", gpu_.wait_policy());
    OnGpu<float> activations(1000, 3), got_activations(1000), gradient(1000, 4), got_gradient(1000);

    const auto sent = group_->start_send(activations.tensor(), right_);
    wait({group_->start_receive(got_activations.tensor(), left_)});
    const auto answered = gradients->start_send(gradient.tensor(), left_);
    gradients->wait(std::array{gradients->start_receive(got_gradient.tensor(), right_)});
    wait({sent});
    gradients->wait(std::array{answered});

    EXPECT_EQ(got_activations.values(), std::vector<float>(1000, 3));
    EXPECT_EQ(got_gradient.values(), std::vector<float>(1000, 4));
}

TEST_P(GpuTensorMessages, ProgressWhileTheirRankWaitsForAHostMessage) {
    comm::MpiCommunicator control(MPI_COMM_WORLD, "control", gpu_.wait_policy());
    OnGpu<float> value(1000, 3), got(1000);
    std::vector<double> answer{1}, got_answer(1);

    const auto sent = group_->start_send(value.tensor(), right_);
    const auto answer_receipt = control.start_receive(comm::make_view(got_answer), right_, 0);
    if (group_->rank() == 0) control.wait(std::array{answer_receipt});
    wait({group_->start_receive(got.tensor(), left_)});
    const auto answered = control.start_send(comm::make_view(answer), left_, 0);
    if (group_->rank() != 0) control.wait(std::array{answer_receipt});
    control.wait(std::array{answered});
    wait({sent});

    EXPECT_EQ(got.values(), std::vector<float>(1000, 3));
}

// Messages for which this rank's queue waits have already been sent. Hence a rank that waits for its GPU does
// not block another rank.
TEST_P(GpuTensorMessages, DoNotBlockRanksThatWaitForTheirGpu) {
    constexpr int rounds = 20;
    OnGpu<float> first(30'000, 1), second(30'000, 2), got(30'000);
    std::vector<comm::Communicator::RequestId> sent;
    for (int round = 0; round < rounds; ++round) {
        sent.push_back(group_->start_send(round % 2 == 0 ? first.tensor() : second.tensor(), right_, round));
        sent.push_back(group_->start_send(second.tensor(), left_, round));

        wait({group_->start_receive(got.tensor(), left_, round)});
        gpu_.queue.wait();
        wait({group_->start_receive(got.tensor(), right_, round)});
        gpu_.queue.wait();
    }
    group_->wait(sent);

    EXPECT_EQ(got.values(), std::vector<float>(30'000, 2));
}

// A message from `from` to `to`. All ranks draw the same plan.
struct Planned {
    int from = 0;
    int to = 0;
    std::size_t elements = 0;
    float value = 0;
    bool is_of_gpu = true;
};

std::vector<Planned> random_plan(std::uint64_t seed, int ranks) {
    const RandomKey key{seed};
    std::vector<Planned> plan;
    for (std::uint64_t i = 0; i < 60; ++i) {
        const auto random = random_block(key, i);
        const int from = static_cast<int>(random[0] % static_cast<unsigned>(ranks));
        const int to = (from + 1 + static_cast<int>(random[1] % static_cast<unsigned>(ranks - 1))) % ranks;
        plan.push_back({.from = from,
                        .to = to,
                        .elements = random[2] % 3 == 0 ? random[2] % 30'000 : random[2] % 7,
                        .value = static_cast<float>(i),
                        .is_of_gpu = random[3] % 4 != 0});
    }
    return plan;
}

TEST_P(GpuTensorMessages, ArriveInRandomMixturesOfGpuAndHostMessages) {
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
        const std::vector<Planned> plan = random_plan(seed, group_->size());
        std::deque<OnGpu<float>> on_gpu;
        std::deque<std::vector<float>> in_memory;
        std::vector<comm::Communicator::RequestId> ids;
        std::vector<std::function<const std::vector<float>&()>> received;
        for (const Planned& message : plan) {
            const bool is_send = message.from == group_->rank();
            if (!is_send && message.to != group_->rank()) continue;
            const float value = is_send ? message.value : -1;
            OnGpu<float>& gpu = on_gpu.emplace_back(message.elements, value);
            std::vector<float>& memory = in_memory.emplace_back(message.elements, value);
            const device::Tensor tensor = message.is_of_gpu ? gpu.tensor() : comm::make_view(memory);
            ids.push_back(is_send ? group_->start_send(tensor, message.to)
                                  : group_->start_receive(tensor, message.from));
            received.emplace_back(
                [&]() -> const std::vector<float>& { return message.is_of_gpu ? gpu.values() : memory; });
        }
        std::ranges::reverse(ids);

        group_->wait(ids);

        auto next = received.begin();
        for (const Planned& message : plan) {
            if (message.from != group_->rank() && message.to != group_->rank()) continue;
            EXPECT_EQ((*next++)(), std::vector<float>(message.elements, message.value));
        }
    }
}

TEST_P(GpuTensorMessages, AreReportedIfReceivedInADifferentOrder) {
    OnGpu<float> first(2, 1), second(2, 2), got_first(2), got_second(2);
    const auto wait_for_7 = group_->start_receive(got_first.tensor(), left_, 7);
    const auto wait_for_8 = group_->start_receive(got_second.tensor(), left_, 8);
    const auto sent_8 = group_->start_send(first.tensor(), right_, 8);
    const auto sent_7 = group_->start_send(second.tensor(), right_, 7);

    expect_mismatch(mismatch(wait_for_7, 7, 8), "7 of 8", "8 of 8 bytes came");
    expect_mismatch(mismatch(wait_for_8, 8, 7), "8 of 8", "7 of 8 bytes came");
    wait({sent_8, sent_7});
}

TEST_P(GpuTensorMessages, AreReportedIfTheirLengthDiffers) {
    expect_mismatch(exchange(4, 12), "5 of 12", "5 of 4 bytes came");
    expect_mismatch(exchange(400'000, 800'000), "5 of 800000", "5 of 400000 bytes came");
    expect_mismatch(exchange(12, 4), "5 of 4", "5 of ");
    expect_mismatch(exchange(800'000, 400'000), "5 of 400000", "5 of ");
    expect_mismatch(exchange(0, 12), "5 of 12", "5 of 0 bytes came");
    expect_mismatch(exchange(12, 0), "5 of 0", "5 of ");
}

TEST_P(GpuTensorMessages, ArriveAfterAMismatchedMessage) {
    exchange(12, 4);
    exchange(8, 8, 6);

    EXPECT_EQ(exchange(8, 8), "nothing");
}

TEST_P(GpuTensorMessages, AreNoLongerInFlightOnceDone) {
    OnGpu<float> value(1, 1), got(1);
    const auto receipt = group_->start_receive(got.tensor(), left_);
    wait({group_->start_send(value.tensor(), right_), receipt});

    try {
        group_->is_done(receipt);
        FAIL() << "a request was accepted twice";
    } catch (const BugError& error) {
        EXPECT_EQ(std::string(error.what()), cat("message ", receipt, " of the test group is not in flight"));
    }
}

TEST_P(GpuTensorMessages, AreNamedIfTheyDoNotArriveInTime) {
    const auto impatient = gpu_.group(GetParam(), "data", gpu_.wait_policy());
    impatient->set_stall_seconds(0.3);
    OnGpu<float> never(1), late(1, 4);
    const auto id = impatient->start_receive(never.tensor(), left_);

    try {
        impatient->wait(std::array{id});
        FAIL() << "a message arrived that no rank sent";
    } catch (const ResourceError& error) {
        const std::string expected =
            cat("waited 0.3 s for rank ", group_->rank(), "'s message from rank ", left_, " of the data group");
        EXPECT_EQ(std::string(error.what()).substr(0, expected.size()), expected);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    impatient->set_stall_seconds(20);
    impatient->wait(std::array{impatient->start_send(late.tensor(), right_), id});
    EXPECT_EQ(never.values(), std::vector<float>(1, 4));
}

TEST_P(GpuTensorMessages, NameTheirSenderIfUnexpected) {
    OnGpu<float> value(10, 3), got(10);
    const auto dispatch = group_->start_send(value.tensor(), right_);

    std::optional<int> sender;
    while (!sender) {
        gpu_.progress_engine.progress_all();
        sender = group_->probe_sender();
    }
    wait({group_->start_receive(got.tensor(), *sender), dispatch});

    EXPECT_EQ(sender, left_);
    EXPECT_EQ(group_->probe_sender(), std::nullopt);
}

INSTANTIATE_TEST_SUITE_P(Transports, GpuTensorMessages, ::testing::Values(Way::staged, Way::nccl), way_of);

}  // namespace
}  // namespace trireme
