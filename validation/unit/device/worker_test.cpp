#include "trireme/device/worker.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace trireme::device {
namespace {

TEST(Worker, RunsJobsInOrder) {
    std::string done;
    Worker worker;

    for (const char letter : {'a', 'b', 'c'}) worker.start([&, letter] { done += letter; });
    worker.wait_for(2);

    EXPECT_EQ(done, "abc");
    EXPECT_TRUE(worker.is_done(2));
}

TEST(Worker, RunsJobsInTheBackground) {
    std::atomic<bool> may_end = false;
    Worker worker;

    const Worker::JobId job = worker.start([&] {
        while (!may_end) std::this_thread::yield();
    });
    EXPECT_FALSE(worker.is_done(job));
    may_end = true;
    worker.wait_for(job);

    EXPECT_TRUE(worker.is_done(job));
}

// ThreadSanitizer reports a race here if the worker looks for an error without the lock before it begins a job.
// The caller clears the error of the first job while the second runs. Relaxed flags order nothing else.
TEST(Worker, ChecksForErrorsUnderItsLock) {
    std::atomic<bool> has_begun = false;
    std::atomic<bool> may_end = false;
    Worker worker;

    const Worker::JobId first = worker.start([] {});
    const Worker::JobId second = worker.start([&] {
        has_begun.store(true, std::memory_order_relaxed);
        while (!may_end.load(std::memory_order_relaxed)) std::this_thread::yield();
    });
    while (!has_begun.load(std::memory_order_relaxed)) std::this_thread::yield();
    worker.wait_for(first);
    may_end.store(true, std::memory_order_relaxed);
    worker.wait_for(second);

    EXPECT_TRUE(worker.is_done(second));
}

TEST(Worker, RethrowsAJobsErrorAndSkipsTheNextJob) {
    bool is_reached = false;
    Worker worker;
    worker.start([] { throw std::runtime_error("the disk is full"); });
    const Worker::JobId skipped = worker.start([&] { is_reached = true; });
    while (!worker.is_done(skipped)) std::this_thread::yield();

    EXPECT_THROW(worker.rethrow_exception(), std::runtime_error);
    EXPECT_FALSE(is_reached);

    worker.clear_exception();
    worker.wait_for(worker.start([&] { is_reached = true; }));
    EXPECT_TRUE(is_reached);
}

}  // namespace
}  // namespace trireme::device
