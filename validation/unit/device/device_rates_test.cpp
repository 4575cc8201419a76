#include <gtest/gtest.h>

#include "trireme/device/stream.hpp"

namespace trireme::device {
namespace {

const DeviceRates rates{.flops = 100, .bandwidth = 10, .launch = 0.25};

TEST(DeviceRates, ChargeTheSlowerOfArithmeticAndMemory) {
    EXPECT_EQ(rates.seconds({.kernel = "linear", .flops = 400, .bytes = 20}), 4.25);
    EXPECT_EQ(rates.seconds({.kernel = "linear", .flops = 400, .bytes = 80}), 8.25);
}

TEST(DeviceRates, ChargeEveryKernelForItsLaunch) { EXPECT_EQ(rates.seconds({.kernel = "nothing"}), 0.25); }

TEST(DeviceRates, FollowTheClockIfArithmeticTakesLonger) {
    EXPECT_EQ(rates.seconds({.kernel = "linear", .flops = 400, .bytes = 20}, 0.5), 8.25);
    EXPECT_EQ(rates.seconds({.kernel = "linear", .flops = 400, .bytes = 80}, 0.5), 8.25);
}

TEST(DeviceRates, AreAbsentFromADefaultStream) { EXPECT_FALSE(Stream{}.predict_seconds); }

}  // namespace
}  // namespace trireme::device
