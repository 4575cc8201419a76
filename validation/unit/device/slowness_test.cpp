#include "trireme/device/slowness.hpp"

#include <gtest/gtest.h>

#include "trireme/device/clock.hpp"

namespace trireme {
namespace {

Slowness of(double factor) {
    Slowness slowness;
    slowness.set(factor);
    return slowness;
}

TEST(Slowness, OfOneChangesNothing) {
    Slowness slowness;

    EXPECT_EQ(slowness.after_kernel(0.5), 0.5);
    EXPECT_EQ(slowness.owed(), 0);
}

TEST(Slowness, MakesKernelsTakeSoManyTimesAsLong) {
    constexpr int kernels = 128;
    constexpr double each = 0x1p-16;  // seconds; sums of it are exact
    Slowness slowness = of(4);
    const double begin = now_seconds();

    double slowed = 0;
    for (int kernel = 0; kernel < kernels; ++kernel) slowed += slowness.after_kernel(each);
    slowness.settle();

    const double spent = now_seconds() - begin;  // the kernels themselves were none
    EXPECT_EQ(slowed, 4 * kernels * each);
    EXPECT_LE(slowness.owed(), 0);
    EXPECT_GE(spent, 3 * kernels * each - slowness.owed());
}

TEST(Slowness, OwesWhatIsNotWorthASleep) {
    Slowness slowness = of(2);

    slowness.after_kernel(1e-5);
    slowness.after_kernel(2e-5);

    EXPECT_DOUBLE_EQ(slowness.owed(), 3e-5);
}

TEST(Slowness, TakesOffWhatASleepTookTooLong) {
    Slowness slowness = of(2);
    slowness.after_kernel(0.001);
    const double owed = slowness.owed();
    ASSERT_LT(owed, 0);

    slowness.after_kernel(-owed / 2);
    slowness.settle();

    EXPECT_DOUBLE_EQ(slowness.owed(), owed / 2);
}

TEST(Slowness, OwesNothingOfAnotherFactor) {
    Slowness slowness = of(2);
    slowness.after_kernel(1e-5);

    slowness.set(2);
    EXPECT_DOUBLE_EQ(slowness.owed(), 1e-5);

    slowness.set(3);
    EXPECT_EQ(slowness.owed(), 0);
}

}  // namespace
}  // namespace trireme
