// busy_for() takes at least the requested time, and in a simulation exactly that time.
#include <gtest/gtest.h>

#include "trireme/device/clock.hpp"

namespace trireme::comm {
namespace {

TEST(BusyFor, TakesTheRequestedTime) {
    for (const double seconds : {0.0, 0.001, 0.02}) {
        const double begin = device::now_seconds();
        device::busy_for(seconds);
        const double taken = device::now_seconds() - begin;

        EXPECT_GE(taken, seconds * (1 - 1e-9));
        EXPECT_TRUE(!device::time_is_simulated() || taken <= seconds + 1e-12);
    }
}

}  // namespace
}  // namespace trireme::comm
