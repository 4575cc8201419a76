#include "trireme/device/clock_setter.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "error_message.hpp"
#include "trireme/base/error.hpp"
#include "trireme/device/clock.hpp"

namespace trireme::device {
namespace {

using validation::catch_message;

// Records the clocks that are set. Other threads read the record only after all requests are done.
class RecordingDevice final : public ClockedDevice {
public:
    struct Change {
        int mhz = 0;
        double time = 0;
    };

    std::vector<ClockState> list_clocks() const override { return {{900, 1}, {600, 0.75}, {300, 0.5}}; }
    void set_clock(int mhz) override {
        if (mhz == broken_mhz) throw ConfigError("the device refuses");
        changes.push_back({.mhz = mhz, .time = now_seconds()});
    }
    bool restore_clock() noexcept override { return true; }
    std::optional<double> read_joules() const override { return std::nullopt; }

    std::vector<int> list_set_clocks() const {
        std::vector<int> all;
        for (const Change& change : changes) all.push_back(change.mhz);
        return all;
    }

    int broken_mhz = 0;
    std::vector<Change> changes = {};
};

TEST(ClockSetter, SetsAllClocksInOrder) {
    const auto device = std::make_shared<RecordingDevice>();
    ClockSetter setter(device);
    std::vector<int> requested;
    std::vector<std::function<void()>> reached;
    for (int i = 0; i < 200; ++i) requested.push_back(300 * (1 + i * i % 3));
    for (const int mhz : requested) reached.push_back(setter.request(mhz));

    std::thread gpu([&] {
        for (const std::function<void()>& each : reached) each();
    });
    setter.wait_for_requests({});

    gpu.join();
    EXPECT_EQ(device->list_set_clocks(), requested);
}

TEST(ClockSetter, SetsAClockOnlyWhenTheGpuReachesIt) {
    const auto device = std::make_shared<RecordingDevice>();
    {
        ClockSetter setter(device);
        setter.request(600)();
        setter.wait_for_requests({});
        setter.request(300);
    }

    EXPECT_EQ(device->list_set_clocks(), std::vector<int>{600});
}

TEST(ClockSetter, KeepsTheDistanceBetweenChanges) {
    constexpr double distance = 0.02;
    const auto device = std::make_shared<RecordingDevice>();
    ClockSetter setter(device, distance);

    for (const int mhz : {600, 300, 600}) setter.request(mhz)();
    setter.wait_for_requests({});

    ASSERT_EQ(device->changes.size(), 3U);
    for (std::size_t i = 1; i < 3; ++i)
        EXPECT_GE(device->changes[i].time - device->changes[i - 1].time, distance);
}

// The destructor would wait for an hour otherwise.
TEST(ClockSetter, EndsWithinTheDistance) {
    const auto device = std::make_shared<RecordingDevice>();
    std::optional<ClockSetter> setter;
    setter.emplace(device, 3600);
    const std::function<void()> reached = setter->request(600);
    reached();

    setter.reset();

    reached();  // the GPU may reach a request later
    EXPECT_TRUE(device->changes.empty());
}

TEST(ClockSetter, ReportsAFailureToTheRank) {
    const auto device = std::make_shared<RecordingDevice>();
    device->broken_mhz = 300;
    ClockSetter setter(device);
    for (const int mhz : {600, 300, 600}) setter.request(mhz)();

    EXPECT_EQ(catch_message<ResourceError>([&] { setter.wait_for_requests({}); }),
              "the clock cannot be set during a step: the device refuses");
    EXPECT_EQ(catch_message<ResourceError>([&] { setter.request(600); }),
              "the clock cannot be set during a step: the device refuses");
    EXPECT_EQ(device->list_set_clocks(), std::vector<int>{600});
}

TEST(ClockSetter, SetsNoClockAfterTheGateIsClosed) {
    std::vector<int> slots(ClockGate::count_slots(2));
    ClockGate other(slots, 1);
    const auto device = std::make_shared<RecordingDevice>();
    ClockSetter setter(device, 0, ClockGate(slots, 0));
    setter.request(600)();
    setter.wait_for_requests({});

    other.close();
    setter.request(300)();
    setter.wait_for_requests({});

    EXPECT_EQ(device->list_set_clocks(), std::vector<int>{600});
}

}  // namespace
}  // namespace trireme::device
