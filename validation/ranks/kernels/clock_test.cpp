// The clocks of a simulated device: the time and energy of kernels. Platform ranks/nodes.xml describes such
// devices.
#include "trireme/device/clock.hpp"

#include <gtest/gtest.h>

#include <array>
#include <optional>

#include "error_message.hpp"
#include "trireme/base/error.hpp"
#include "trireme/comm/collectives.hpp"
#include "trireme/comm/session.hpp"
#include "trireme/device/clock_setter.hpp"
#include "trireme/kernels/launch.hpp"

namespace trireme::kernels {
namespace {

struct Matmul {
    double flops = 0;
    double bytes = 0;
    void check() const {}
    device::Cost cost() const { return {.kernel = "product", .flops = flops, .bytes = bytes}; }
    NamedTensors tensors() const { return {}; }
};

void run(device::ReferenceStream&, const Matmul&) {}
void run(device::CpuStream&, const Matmul&) {}
void run(device::CudaStream&, const Matmul&) {}

// The values of ranks/nodes.xml.
constexpr std::array states{device::ClockState{1000, 1}, device::ClockState{750, 0.75},
                            device::ClockState{500, 0.5}};
constexpr std::array busy_watts{300.0, 200.0, 150.0};
constexpr double idle_watts = 70;
constexpr double rounding = 1e-6;  // relative error of the simulator

class ClockStates : public ::testing::Test {
protected:
    void SetUp() override {
        if (!device_ || device_->list_clocks().empty())
            GTEST_SKIP() << "the clock of this device cannot be set";
        setter_.emplace(device_);
    }
    void TearDown() override {
        if (setter_) device_->restore_clock();
    }

    // Returns the seconds and joules that `work` takes.
    template <class Work>
    std::pair<double, double> measure_cost(const Work& work) const {
        const double begin = device::now_seconds();
        const double joules = device_->read_joules().value();
        work();
        return {device::now_seconds() - begin, device_->read_joules().value() - joules};
    }

    // Sets the clock with this index in `states`.
    void set_clock(std::size_t state) { setter_->set_clock(static_cast<int>(states[state].mhz), stream_); }

    std::shared_ptr<device::ClockedDevice> device_ = device::make_simulated_device();
    std::optional<device::ClockSetter> setter_;
    device::Stream stream_{.backend = device::GhostStream{},
                           .predict_seconds = [](const device::Cost& cost, double clock) {
                               return device::DeviceRates{.flops = 1e11, .bandwidth = 1e9}.seconds(cost, clock);
                           }};
};

TEST_F(ClockStates, MatchThePlatformDescription) {
    EXPECT_EQ(device_->list_clocks(), std::vector<device::ClockState>(states.begin(), states.end()));
    EXPECT_EQ(validation::catch_message<BugError>([&] { setter_->set_clock(400, stream_); }),
              "the device has no clock of 400 MHz");
}

TEST_F(ClockStates, ScaleTimeAndPowerOfArithmetic) {
    constexpr double flops = 1e12;  // 10 seconds at the highest clock
    for (std::size_t state = 0; state < states.size(); ++state) {
        set_clock(state);
        EXPECT_EQ(stream_.clock, states[state].speed);

        const auto [seconds, joules] = measure_cost([&] { launch(stream_, Matmul{.flops = flops}); });

        const double expected = 10 / states[state].speed;
        EXPECT_NEAR(seconds, expected, rounding * expected);
        EXPECT_NEAR(joules, busy_watts[state] * expected, rounding * busy_watts[state] * expected);
    }
}

// Memory bandwidth does not depend on the clock.
TEST_F(ClockStates, DoNotChangeMemoryBandwidth) {
    set_clock(2);

    const auto [seconds, joules] = measure_cost([&] { launch(stream_, Matmul{.bytes = 4e9}); });

    EXPECT_NEAR(seconds, 4, 4 * rounding);
    EXPECT_NEAR(joules, 4 * busy_watts[2], 4 * busy_watts[2] * rounding);
}

TEST_F(ClockStates, DrawBusyPowerForTheRequestedTime) {
    for (std::size_t state = 0; state < states.size(); ++state) {
        set_clock(state);

        const auto [seconds, joules] = measure_cost([] { device::busy_for(0.5); });

        EXPECT_NEAR(seconds, 0.5, rounding);
        EXPECT_NEAR(joules, 0.5 * busy_watts[state], busy_watts[state] * rounding);
    }
}

TEST_F(ClockStates, DrawIdlePowerWhileARankWaits) {
    int arguments = 0;
    char** words = nullptr;
    const comm::Session session(arguments, words);
    const auto group = session.make_group_of_all_ranks("clocks", {});
    barrier(*group);

    const auto [seconds, joules] = measure_cost([&] {
        if (session.rank() == 0) device::busy_for(2);
        barrier(*group);
    });

    const double busy = session.rank() == 0 ? 2 : 0;
    EXPECT_GT(seconds, 2);
    EXPECT_NEAR(joules, busy_watts[0] * busy + idle_watts * (seconds - busy), busy_watts[0] * 2 * rounding);
}

TEST_F(ClockStates, AreRestored) {
    set_clock(2);

    setter_->restore_clock(stream_);

    EXPECT_EQ(stream_.clock, 1);
    EXPECT_NEAR(measure_cost([&] { launch(stream_, Matmul{.flops = 1e11}); }).first, 1, rounding);
}

TEST(DeviceWithoutClocks, ReportsNoEnergy) {
    const std::shared_ptr<device::ClockedDevice> device = device::make_simulated_device();
    if (device && !device->list_clocks().empty()) GTEST_SKIP() << "this device has clocks";

    EXPECT_EQ(device != nullptr, device::time_is_simulated());
    if (device) {
        EXPECT_EQ(device->read_joules(), std::nullopt);
    }
}

}  // namespace
}  // namespace trireme::kernels
