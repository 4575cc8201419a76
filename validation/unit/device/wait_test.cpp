#include "trireme/device/wait.hpp"

#include <gtest/gtest.h>

#include "error_message.hpp"
#include "trireme/base/error.hpp"

namespace trireme {
namespace {

using validation::message_of;

constexpr double soon = 0.01;  // seconds, and longer than what is polled without sleep

std::string something() { return "something"; }

bool never() { return false; }

// How often it was called, and what it was told.
struct Listener {
    int looks = 0;
    std::string heard;
    Lookout lookout{.look = [this] { ++looks; }, .tell = [this](const std::string& stall) { heard = stall; }};
};

TEST(Wait, EndsWhenWhatItWaitsForIsThere) {
    Listener listener;
    int polls = 0;

    wait_until([&] { return ++polls == 3; }, {.stall_seconds = 20, .lookout = &listener.lookout}, something);

    EXPECT_EQ(polls, 3);
    EXPECT_EQ(listener.heard, "");
}

TEST(Wait, ThatStallsIsAnError) {
    const std::string message =
        message_of<ResourceError>([] { wait_until(never, {.stall_seconds = soon}, something); });

    EXPECT_EQ(message, "waited 0.01 s for something; a rank is dead or stuck, or --stall-timeout is too short");
}

TEST(Wait, ThatIsLongLooksOut) {
    Listener listener;

    wait_until([&] { return listener.looks == 3; }, {.stall_seconds = 20, .lookout = &listener.lookout},
               something);

    EXPECT_EQ(listener.looks, 3);
}

TEST(Wait, ThatStallsIsToldOf) {
    Listener listener;

    message_of<ResourceError>(
        [&] { wait_until(never, {.stall_seconds = soon, .lookout = &listener.lookout}, something); });

    EXPECT_EQ(listener.heard, "waited 0.01 s for something");
}

TEST(Wait, EndsWithWhateverTheLookoutThrows) {
    const Lookout lookout{.look = [] { throw ConfigError("land in sight"); },
                          .tell = [](const std::string&) {}};

    const std::string message = message_of<ConfigError>(
        [&] { wait_until(never, {.stall_seconds = 20, .lookout = &lookout}, something); });

    EXPECT_EQ(message, "land in sight");
}

}  // namespace
}  // namespace trireme
