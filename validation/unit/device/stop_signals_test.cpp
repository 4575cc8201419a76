#include "trireme/device/stop_signals.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <thread>

#include "trireme/device/wait.hpp"

namespace trireme::device {
namespace {

bool has_received(const StopSignals& signals, int signal) {
    for (int i = 0; i < 10'000 && signals.first_signal() == 0; ++i) ::usleep(1000);
    return signals.first_signal() == signal;
}

// Sets the action of SIGHUP and restores it afterwards. A test program under nohup would ignore the signal.
class HangUp {
public:
    explicit HangUp(void (*action)(int)) : before_(std::signal(SIGHUP, action)) {}
    ~HangUp() { std::signal(SIGHUP, before_); }
    HangUp(const HangUp&) = delete;
    HangUp& operator=(const HangUp&) = delete;

private:
    void (*before_)(int);
};

TEST(StopSignals, LeaveHangUpIgnoredUnderNohup) {
    const HangUp ignored(SIG_IGN);
    StopSignals signals;

    ::kill(::getpid(), SIGHUP);
    ::kill(::getpid(), SIGTERM);

    EXPECT_TRUE(has_received(signals, SIGTERM));
}

TEST(StopSignals, AreKeptUntilRead) {
    const HangUp usual(SIG_DFL);
    for (const int signal : StopSignals::signal_numbers) {
        StopSignals signals;
        EXPECT_EQ(signals.first_signal(), 0);
        ::kill(::getpid(), signal);
        EXPECT_TRUE(has_received(signals, signal)) << signal;
    }
}

TEST(StopSignals, ReportOnlyTheFirstSignal) {
    StopSignals signals;
    ::kill(::getpid(), SIGUSR1);
    EXPECT_TRUE(has_received(signals, SIGUSR1));
    ::kill(::getpid(), SIGTERM);
    ::usleep(20'000);
    EXPECT_EQ(signals.first_signal(), SIGUSR1);
}

TEST(StopSignals, AreCaughtInThreadsStartedBefore) {
    std::atomic<bool> is_over = false;
    std::thread early([&] {
        while (!is_over) ::usleep(1000);
    });
    {
        StopSignals signals;
        ::pthread_kill(early.native_handle(), SIGTERM);
        EXPECT_TRUE(has_received(signals, SIGTERM));
    }
    is_over = true;
    early.join();
}

// The test replaces a handler, as an MPI library may do while it starts.
TEST(StopSignals, ReclaimReplacedHandlers) {
    std::atomic<bool> is_over = false;
    std::thread early([&] {
        while (!is_over) ::usleep(1000);
    });
    {
        StopSignals signals;
        std::signal(SIGUSR1, SIG_IGN);
        signals.install_handlers();
        ::pthread_kill(early.native_handle(), SIGUSR1);
        EXPECT_TRUE(has_received(signals, SIGUSR1));
    }
    is_over = true;
    early.join();
}

TEST(StopSignals, RestoreHandlersAndMaskAtTheEnd) {
    const HangUp usual(SIG_DFL);
    struct sigaction action {};
    { StopSignals signals; }
    for (const int signal : StopSignals::signal_numbers) {
        sigaction(signal, nullptr, &action);
        EXPECT_EQ(action.sa_handler, SIG_DFL);
    }
    sigset_t blocked;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    EXPECT_FALSE(sigismember(&blocked, SIGTERM));
}

TEST(StopSignals, RunCallbacksAtOnce) {
    StopSignals signals;
    std::atomic<int> calls = 0;
    const SignalCallback one(signals, [&] { ++calls; });
    const SignalCallback other(signals, [&] { calls += 10; });
    EXPECT_EQ(calls, 0);
    ::kill(::getpid(), SIGUSR1);
    for (int i = 0; i < 10'000 && calls < 11; ++i) ::usleep(1000);
    EXPECT_EQ(calls, 11);

    const SignalCallback late(signals, [&] { calls += 100; });  // a signal has come already
    EXPECT_EQ(calls, 111);
}

TEST(StopSignals, DoNotRunRemovedCallbacks) {
    StopSignals signals;
    std::atomic<int> calls = 0;
    {
        const SignalCallback removed(signals, [&] { ++calls; });
    }
    ::kill(::getpid(), SIGTERM);
    EXPECT_TRUE(has_received(signals, SIGTERM));
    {
        const SignalCallback waits(signals, [] {});
    }  // waits for running callbacks
    EXPECT_EQ(calls, 0);
}

void interrupt_twice() {
    StopSignals signals;
    ::kill(::getpid(), SIGINT);
    if (!has_received(signals, SIGINT)) ::_exit(1);
    ::kill(::getpid(), SIGINT);
    ::sleep(10);
    ::_exit(2);
}

TEST(StopSignals, EndTheProcessAtTheSecondInterrupt) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(interrupt_twice(), testing::KilledBySignal(SIGINT), "");
}

}  // namespace
}  // namespace trireme::device
