#include "trireme/device/emulated_slowness.hpp"

#include <gtest/gtest.h>

#include "trireme/device/clock.hpp"
#include "trireme/device/stream.hpp"

namespace trireme::device {
namespace {

constexpr Cost norm{.kernel = "layer_norm", .bytes = 64};
constexpr Cost matmul{.kernel = "linear", .flops = 16, .bytes = 48, .matmul = {2, 2, 2}};

Slowness slowness_with(const SlowFactors& factors) {
    Slowness slowness;
    slowness.set(factors);
    return slowness;
}

TEST(Slowness, ChangesNothingByDefault) {
    Slowness slowness;

    EXPECT_EQ(slowness.add_kernel(norm, 0.5), 0.5);
    EXPECT_EQ(slowness.owed_seconds(), 0);
}

TEST(Slowness, MultipliesTheTimeOfKernels) {
    constexpr int kernels = 128;
    constexpr double each = 0x1p-16;  // seconds; sums of a power of two are exact
    Slowness slowness = slowness_with({.all = 4});
    const double begin = now_seconds();

    double slowed = 0;
    for (int kernel = 0; kernel < kernels; ++kernel) slowed += slowness.add_kernel(norm, each);
    slowness.spend_owed_time();

    const double spent = now_seconds() - begin;  // no kernel was executed, so all of it is delay
    EXPECT_EQ(slowed, 4 * kernels * each);
    EXPECT_LE(slowness.owed_seconds(), 0);
    EXPECT_GE(spent, 3 * kernels * each - slowness.owed_seconds());
}

TEST(Slowness, SlowsOnlyMatrixProductsByTheirFactor) {
    Slowness slowness = slowness_with({.matmuls = 3});

    EXPECT_EQ(slowness.add_kernel(norm, 0x1p-16), 0x1p-16);
    EXPECT_EQ(slowness.owed_seconds(), 0);
    EXPECT_EQ(slowness.add_kernel(matmul, 0x1p-16), 3 * 0x1p-16);
    EXPECT_EQ(slowness.owed_seconds(), 2 * 0x1p-16);
}

TEST(Slowness, MultipliesBothFactorsForMatrixProducts) {
    Slowness slowness = slowness_with({.all = 2, .matmuls = 3});

    EXPECT_EQ(slowness.add_kernel(norm, 0x1p-20), 2 * 0x1p-20);
    EXPECT_EQ(slowness.add_kernel(matmul, 0x1p-20), 6 * 0x1p-20);
    EXPECT_EQ(slowness.owed_seconds(), (1 + 5) * 0x1p-20);
}

TEST(Slowness, DefersDelaysTooShortForASleep) {
    Slowness slowness = slowness_with({.all = 2});

    slowness.add_kernel(norm, 1e-5);
    slowness.add_kernel(norm, 2e-5);

    EXPECT_DOUBLE_EQ(slowness.owed_seconds(), 3e-5);
}

TEST(Slowness, SubtractsOversleptTimeFromLaterDelays) {
    Slowness slowness = slowness_with({.all = 2});
    slowness.add_kernel(norm, 0.001);
    const double owed = slowness.owed_seconds();
    ASSERT_LT(owed, 0);

    slowness.add_kernel(norm, -owed / 2);
    slowness.spend_owed_time();

    EXPECT_DOUBLE_EQ(slowness.owed_seconds(), owed / 2);
}

TEST(Slowness, DropsOwedDelaysWhenItsFactorsChange) {
    Slowness slowness = slowness_with({.all = 2});
    slowness.add_kernel(norm, 1e-5);

    slowness.set({.all = 2});
    EXPECT_DOUBLE_EQ(slowness.owed_seconds(), 1e-5);

    slowness.set({.all = 2, .matmuls = 2});
    EXPECT_EQ(slowness.owed_seconds(), 0);
}

}  // namespace
}  // namespace trireme::device
