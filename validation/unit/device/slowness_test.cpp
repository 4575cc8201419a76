#include "trireme/device/slowness.hpp"

#include <gtest/gtest.h>

#include "trireme/device/clock.hpp"
#include "trireme/device/stream.hpp"

namespace trireme::device {
namespace {

constexpr Cost norm{.kernel = "layer_norm", .bytes = 64};
constexpr Cost product{.kernel = "linear", .flops = 16, .bytes = 48, .product = {2, 2, 2}};

Slowness of(const SlowFactors& factors) {
    Slowness slowness;
    slowness.set(factors);
    return slowness;
}

TEST(Slowness, OfOneChangesNothing) {
    Slowness slowness;

    EXPECT_EQ(slowness.after_kernel(norm, 0.5), 0.5);
    EXPECT_EQ(slowness.owed(), 0);
}

TEST(Slowness, MakesKernelsTakeSoManyTimesAsLong) {
    constexpr int kernels = 128;
    constexpr double each = 0x1p-16;  // seconds; sums of a power of two are exact
    Slowness slowness = of({.all = 4});
    const double begin = now_seconds();

    double slowed = 0;
    for (int kernel = 0; kernel < kernels; ++kernel) slowed += slowness.after_kernel(norm, each);
    slowness.settle();

    const double spent = now_seconds() - begin;  // no kernel was executed, so all of it is delay
    EXPECT_EQ(slowed, 4 * kernels * each);
    EXPECT_LE(slowness.owed(), 0);
    EXPECT_GE(spent, 3 * kernels * each - slowness.owed());
}

TEST(Slowness, OfProductsIsOfNoOtherKernel) {
    Slowness slowness = of({.products = 3});

    EXPECT_EQ(slowness.after_kernel(norm, 0x1p-16), 0x1p-16);
    EXPECT_EQ(slowness.owed(), 0);
    EXPECT_EQ(slowness.after_kernel(product, 0x1p-16), 3 * 0x1p-16);
    EXPECT_EQ(slowness.owed(), 2 * 0x1p-16);
}

TEST(Slowness, OfProductsComesBesideThatOfAll) {
    Slowness slowness = of({.all = 2, .products = 3});

    EXPECT_EQ(slowness.after_kernel(norm, 0x1p-20), 2 * 0x1p-20);
    EXPECT_EQ(slowness.after_kernel(product, 0x1p-20), 6 * 0x1p-20);
    EXPECT_EQ(slowness.owed(), (1 + 5) * 0x1p-20);
}

TEST(Slowness, OwesWhatIsNotWorthASleep) {
    Slowness slowness = of({.all = 2});

    slowness.after_kernel(norm, 1e-5);
    slowness.after_kernel(norm, 2e-5);

    EXPECT_DOUBLE_EQ(slowness.owed(), 3e-5);
}

TEST(Slowness, TakesOffWhatASleepTookTooLong) {
    Slowness slowness = of({.all = 2});
    slowness.after_kernel(norm, 0.001);
    const double owed = slowness.owed();
    ASSERT_LT(owed, 0);

    slowness.after_kernel(norm, -owed / 2);
    slowness.settle();

    EXPECT_DOUBLE_EQ(slowness.owed(), owed / 2);
}

TEST(Slowness, OwesNothingOfAnotherFactor) {
    Slowness slowness = of({.all = 2});
    slowness.after_kernel(norm, 1e-5);

    slowness.set({.all = 2});
    EXPECT_DOUBLE_EQ(slowness.owed(), 1e-5);

    slowness.set({.all = 2, .products = 2});
    EXPECT_EQ(slowness.owed(), 0);
}

}  // namespace
}  // namespace trireme::device
