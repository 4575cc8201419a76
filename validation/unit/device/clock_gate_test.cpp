#include "trireme/device/clock_gate.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace trireme::device {
namespace {

TEST(ClockGate, IsEmptyOnceItIsClosed) {
    for (int repetition = 0; repetition < 200; ++repetition) {
        std::vector<int> slots(ClockGate::count_slots(2));
        std::atomic<int> entries = 0;
        ClockGate first(slots, 0);
        ClockGate second(slots, 1);
        std::thread rank([&] {
            while (first.enter()) {
                entries += 1;  // a clock is set here
                first.leave();
            }
        });
        while (entries == 0) std::this_thread::yield();

        second.close();
        const int before = entries;
        rank.join();

        EXPECT_EQ(entries, before);
        EXPECT_FALSE(second.enter());
    }
}

TEST(ClockGate, ClosesIfARankWasKilledInside) {
    std::vector<int> slots(ClockGate::count_slots(2));
    ClockGate killed(slots, 0);
    ClockGate survivor(slots, 1);
    killed.enter();

    survivor.close();

    EXPECT_FALSE(survivor.enter());
}

}  // namespace
}  // namespace trireme::device
