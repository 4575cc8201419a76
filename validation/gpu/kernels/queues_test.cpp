#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "trireme/device/buffer.hpp"
#include "trireme/device/gpu.hpp"

namespace trireme {
namespace {

// The number is 1 in `source_` on the GPU; each copy of it goes through a queue of its own.
class Queues : public ::testing::Test {
protected:
    void SetUp() override {
        *pinned_ = 1;
        first_.copy(source_.data(), pinned_, sizeof *pinned_);
        first_.wait();
        *pinned_ = 0;
    }
    void TearDown() override { device::free_pinned_memory(reinterpret_cast<std::byte*>(pinned_)); }

    std::int64_t* pinned_ =
        reinterpret_cast<std::int64_t*>(device::allocate_pinned_memory(sizeof(std::int64_t)));
    device::Buffer source_{sizeof(std::int64_t), device::MemorySpace::gpu};
    device::Buffer target_{sizeof(std::int64_t), device::MemorySpace::gpu};
    device::GpuQueue first_, second_;
};

TEST_F(Queues, RunWorkAfterTheEventThatTheyWaitFor) {
    device::GpuEvent copied;
    first_.copy(target_.data(), source_.data(), source_.bytes());
    first_.mark(copied);
    second_.wait_for(copied);
    second_.copy(pinned_, target_.data(), target_.bytes());

    second_.wait();

    EXPECT_EQ(*pinned_, 1);
}

TEST_F(Queues, CallFunctionsInOrder) {
    std::vector<std::int64_t> copied;
    first_.call([&] { copied.push_back(*pinned_); });
    first_.copy(pinned_, source_.data(), source_.bytes());
    first_.call([&] { copied.push_back(*pinned_); });

    first_.wait();

    EXPECT_EQ(copied, (std::vector<std::int64_t>{0, 1}));
}

TEST_F(Queues, WaitForEventsOfQueuesThatWereCreatedLater) {
    device::GpuEvent copied;
    second_.copy(target_.data(), source_.data(), source_.bytes());
    second_.mark(copied);
    first_.wait_for(copied);
    first_.copy(pinned_, target_.data(), target_.bytes());

    first_.wait();

    EXPECT_EQ(*pinned_, 1);
}

// Setting a mark again does not delay a queue that waits for its earlier position.
TEST_F(Queues, IgnoreMarksThatAreSetAfterTheWait) {
    device::GpuEvent copied;
    first_.copy(target_.data(), source_.data(), source_.bytes());
    first_.mark(copied);
    second_.wait_for(copied);
    second_.copy(pinned_, target_.data(), target_.bytes());
    device::GpuEvent read;
    second_.mark(read);
    first_.wait_for(read);
    first_.mark(copied);

    second_.wait();

    EXPECT_EQ(*pinned_, 1);
}

TEST_F(Queues, FinishNonBlockingCopiesOnAnExplicitWait) {
    device::GpuQueue alone = device::GpuQueue::make_non_blocking();
    alone.copy(pinned_, source_.data(), source_.bytes());

    alone.wait();

    EXPECT_EQ(*pinned_, 1);
}

}  // namespace
}  // namespace trireme
