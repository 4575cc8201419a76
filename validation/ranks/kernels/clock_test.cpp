// A device with clocks: what a kernel takes, and what it consumes. ranks/nodes.xml has such ones.
#include <gtest/gtest.h>

#include <array>
#include <optional>

#include "error_message.hpp"
#include "trireme/base/error.hpp"
#include "trireme/comm/collectives.hpp"
#include "trireme/comm/session.hpp"
#include "trireme/device/power.hpp"
#include "trireme/kernels/launch.hpp"

namespace trireme {
namespace {

struct Product {
    double flops = 0;
    double bytes = 0;
    void check() const {}
    Cost cost() const { return {.kernel = "product", .flops = flops, .bytes = bytes}; }
    NamedTensors tensors() const { return {}; }
};

void run(ReferenceStream&, const Product&) {}
void run(CpuStream&, const Product&) {}
void run(CudaStream&, const Product&) {}

// As ranks/nodes.xml has it.
constexpr std::array states{ClockState{1000, 1}, ClockState{750, 0.75}, ClockState{500, 0.5}};
constexpr std::array busy_watts{300.0, 200.0, 150.0};
constexpr double idle_watts = 70;
constexpr double rounding = 1e-6;  // the simulator's

class ClockOfADevice : public ::testing::Test {
protected:
    void SetUp() override {
        if (clock_states().empty()) GTEST_SKIP() << "its clock cannot be set";
    }
    void TearDown() override {
        if (!clock_states().empty()) set_clock_state(0);
    }

    // Seconds and joules of what is done.
    template <class Work>
    static std::pair<double, double> cost_of(const Work& work) {
        const double begin = now_seconds();
        const double joules = consumed_joules().value();
        work();
        return {now_seconds() - begin, consumed_joules().value() - joules};
    }

    Stream stream_{.backend = GhostStream{}, .seconds_of = [](const Cost& cost, double clock) {
                       return DeviceRates{.flops = 1e11, .bandwidth = 1e9}.seconds(cost, clock);
                   }};
};

TEST_F(ClockOfADevice, IsOneOfThoseThatAreDescribed) {
    EXPECT_EQ(clock_states(), std::vector<ClockState>(states.begin(), states.end()));
    EXPECT_EQ(clock_state(), 0U);
    EXPECT_EQ(validation::message_of<BugError>([] { set_clock_state(3); }), "clock 3 of a device that has 3");
}

TEST_F(ClockOfADevice, MakesArithmeticSlowerAndCheaper) {
    constexpr double flops = 1e12;  // 10 seconds at the highest clock
    for (std::size_t state = 0; state < states.size(); ++state) {
        set_clock(state, stream_);
        EXPECT_EQ(clock_state(), state);

        const auto [seconds, joules] = cost_of([&] { launch(stream_, Product{.flops = flops}); });

        const double expected = 10 / states[state].speed;
        EXPECT_NEAR(seconds, expected, rounding * expected);
        EXPECT_NEAR(joules, busy_watts[state] * expected, rounding * busy_watts[state] * expected);
    }
}

// Memory does not follow the clock.
TEST_F(ClockOfADevice, LeavesMemoryAsFastAsItWas) {
    set_clock(2, stream_);

    const auto [seconds, joules] = cost_of([&] { launch(stream_, Product{.bytes = 4e9}); });

    EXPECT_NEAR(seconds, 4, 4 * rounding);
    EXPECT_NEAR(joules, 4 * busy_watts[2], 4 * busy_watts[2] * rounding);
}

TEST_F(ClockOfADevice, SpendsAsManySecondsAsItIsTold) {
    for (std::size_t state = 0; state < states.size(); ++state) {
        set_clock_state(state);

        const auto [seconds, joules] = cost_of([] { spend_seconds(0.5); });

        EXPECT_NEAR(seconds, 0.5, rounding);
        EXPECT_NEAR(joules, 0.5 * busy_watts[state], busy_watts[state] * rounding);
    }
}

TEST_F(ClockOfADevice, DrawsItsIdlePowerWhileARankWaits) {
    int arguments = 0;
    char** words = nullptr;
    const Session session(arguments, words);
    const auto group = session.all_ranks("clocks", {});
    barrier(*group);

    const auto [seconds, joules] = cost_of([&] {
        if (session.rank() == 0) spend_seconds(2);
        barrier(*group);
    });

    const double busy = session.rank() == 0 ? 2 : 0;
    EXPECT_GT(seconds, 2);
    EXPECT_NEAR(joules, busy_watts[0] * busy + idle_watts * (seconds - busy), busy_watts[0] * 2 * rounding);
}

TEST(ADeviceWithoutClocks, IsNotMeasured) {
    if (!clock_states().empty()) GTEST_SKIP() << "this one has some";

    EXPECT_EQ(consumed_joules(), std::nullopt);
    EXPECT_EQ(clock_state(), 0U);
}

}  // namespace
}  // namespace trireme
