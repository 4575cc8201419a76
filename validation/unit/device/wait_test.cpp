#include "trireme/device/wait.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "error_message.hpp"
#include "trireme/base/error.hpp"

namespace trireme::device {
namespace {

using validation::catch_message;

constexpr double soon = 0.01;  // seconds; longer than the phase of polls without sleep

std::string something() { return "something"; }

bool never() { return false; }

// Counts the calls of `look` and keeps the last message of `report`.
struct Listener {
    int looks = 0;
    std::string heard;
    WaitObserver observer{.on_poll = [this](double) { ++looks; },
                          .on_stall = [this](const std::string& stall) { heard = stall; }};
};

TEST(Wait, CallsMeanwhileBetweenPolls) {
    int polls = 0;
    int turns = 0;
    const std::function<void()> between_polls = [&] { ++turns; };

    wait_until([&] { return ++polls == 4; }, {.stall_seconds = 20, .between_polls = &between_polls}, something);

    EXPECT_EQ(turns, 2);
}

TEST(Wait, EndsWhenItsConditionHolds) {
    Listener listener;
    int polls = 0;

    wait_until([&] { return ++polls == 3; }, {.stall_seconds = 20, .observer = &listener.observer}, something);

    EXPECT_EQ(polls, 3);
    EXPECT_EQ(listener.heard, "");
}

TEST(Wait, FailsWhenItStalls) {
    const std::string message =
        catch_message<ResourceError>([] { wait_until(never, {.stall_seconds = soon}, something); });

    EXPECT_EQ(message, "waited 0.01 s for something; a rank is dead or stuck, or --stall-timeout is too short");
}

TEST(Wait, CallsItsObserverWhileItLasts) {
    Listener listener;

    wait_until([&] { return listener.looks == 3; }, {.stall_seconds = 20, .observer = &listener.observer},
               something);

    EXPECT_EQ(listener.looks, 3);
}

TEST(Wait, ReportsAStallToItsObserver) {
    Listener listener;
    const auto is_reported = [&] { return !listener.heard.empty(); };

    wait_until(is_reported, {.stall_seconds = soon, .observer = &listener.observer}, something);

    EXPECT_EQ(listener.heard, "waited 0.01 s for something");
}

TEST(Wait, ReportsEachFurtherStallToItsObserver) {
    std::vector<std::string> heard;
    const WaitObserver observer{.on_poll = [](double) {},
                                .on_stall = [&](const std::string& stall) { heard.push_back(stall); }};

    wait_until([&] { return heard.size() == 3; }, {.stall_seconds = 0.25, .observer = &observer}, something);

    EXPECT_EQ(heard, (std::vector<std::string>{"waited 0.25 s for something", "waited 0.5 s for something",
                                               "waited 0.75 s for something"}));
}

TEST(Wait, PassesTheElapsedTimeToItsObserver) {
    std::vector<double> seconds;
    const WaitObserver observer{.on_poll = [&](double waited) { seconds.push_back(waited); },
                                .on_stall = [](const std::string&) {}};

    wait_until([&] { return seconds.size() == 3; }, {.stall_seconds = 20, .observer = &observer}, something);

    EXPECT_GT(seconds[0], 0);
    EXPECT_LT(seconds[0], seconds[1]);
    EXPECT_LT(seconds[1], seconds[2]);
}

// As after a suspension, more than `stall_seconds` pass between two polls.
TEST(Wait, DoesNotCountTimeWhileSuspended) {
    int polls = 0;
    const auto sleeps_once = [&] {
        if (++polls == 2) std::this_thread::sleep_for(std::chrono::milliseconds(400));
        return polls == 4;
    };

    wait_until(sleeps_once, {.stall_seconds = 0.35}, something);

    EXPECT_EQ(polls, 4);
}

TEST(Wait, ForwardsExceptionsOfItsObserver) {
    const WaitObserver observer{.on_poll = [](double) { throw ConfigError("land in sight"); },
                                .on_stall = [](const std::string&) {}};

    const std::string message = catch_message<ConfigError>(
        [&] { wait_until(never, {.stall_seconds = 20, .observer = &observer}, something); });

    EXPECT_EQ(message, "land in sight");
}

}  // namespace
}  // namespace trireme::device
