#include "trireme/plan/kernel_times.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace trireme::plan {
namespace {

// A device described by three figures.
struct Roofline {
    double flops = 1e11;
    double bandwidth = 1e10;
    double launch = 1e-6;

    double seconds(const KernelCall& call) const {
        return std::max(call.flops / flops, call.bytes / bandwidth) + launch;
    }
    KernelProfile measured(const std::string& kernel, const KernelCall& call) const {
        return {.kernel = kernel, .call = call, .calls = 1, .seconds = seconds(call)};
    }
};

KernelCall matmul(std::size_t rows, std::size_t columns, std::size_t depth) {
    const auto r = static_cast<double>(rows);
    const auto c = static_cast<double>(columns);
    const auto d = static_cast<double>(depth);
    return {.flops = 2 * r * c * d, .bytes = 4 * (r * d + c * d + r * c), .matmul = {rows, columns, depth}};
}

// Returns an attention call on `samples` samples of `length` tokens, with 64 columns.
KernelCall attention(double samples, double length) {
    return {.flops = 4 * samples * length * length * 64, .bytes = 16 * samples * length * 64};
}

KernelCall bytes(double count) { return {.bytes = count}; }

// Returns measurements like those of a profile: the kernels of a model's layers at six micro-batch sizes.
std::vector<KernelProfile> resolve_device_and_threads(const Roofline& machine) {
    std::vector<KernelProfile> measured;
    for (const std::size_t rows : {16, 32, 64, 128, 256, 512}) {
        for (const auto& [columns, depth] : {std::pair{2304, 768}, {768, 768}, {3072, 768}, {768, 3072}}) {
            measured.push_back(machine.measured("linear", matmul(rows, columns, depth)));
        }
        for (const double samples : {1, 2, 4})
            measured.push_back(machine.measured("attention", attention(samples, static_cast<double>(rows))));
    }
    for (double size = 1024; size < 1e8; size *= 4) measured.push_back(machine.measured("fill", bytes(size)));
    return measured;
}

double difference(double value, double truth) { return std::abs(value / truth - 1); }

TEST(KernelTimes, EqualTheMeasuredTimes) {
    const std::vector<KernelProfile> measured = resolve_device_and_threads({});
    const KernelTimes times(measured);

    for (const KernelProfile& each : measured) {
        EXPECT_NEAR(times.predict_seconds(each.kernel, each.call), each.seconds, 1e-12 * each.seconds)
            << each.kernel;
    }
}

TEST(KernelTimes, AreWithinTenPercentBetweenMatmulShapes) {
    for (const double launch : {0.0, 1e-6, 1e-4}) {
        const Roofline machine{.launch = launch};
        const KernelTimes times(resolve_device_and_threads(machine));

        for (const std::size_t rows : {17, 23, 45, 91, 181, 300, 362, 500}) {
            for (const auto& [columns, depth] :
                 {std::pair{2304, 768}, {768, 768}, {768, 3072}, {1536, 768}, {768, 1536}, {1152, 1152}}) {
                const KernelCall call = matmul(rows, columns, depth);
                EXPECT_LT(difference(times.predict_seconds("linear", call), machine.seconds(call)), 0.1)
                    << rows << ' ' << columns << ' ' << depth << ", launch " << launch;
            }
        }
    }
}

TEST(KernelTimes, AreWithinTenPercentBetweenAttentionLengths) {
    for (const double launch : {0.0, 1e-6, 1e-4}) {
        const Roofline machine{.launch = launch};
        const KernelTimes times(resolve_device_and_threads(machine));

        for (const double length : {20, 45, 100, 181, 362, 500}) {
            for (const double samples : {1, 3}) {
                const KernelCall call = attention(samples, length);
                EXPECT_LT(difference(times.predict_seconds("attention", call), machine.seconds(call)), 0.1)
                    << samples << " x " << length << ", launch " << launch;
            }
        }
    }
}

TEST(KernelTimes, AreLinearInBytesForOtherKernels) {
    const Roofline machine;
    const KernelTimes times(resolve_device_and_threads(machine));

    for (const double count : {1500.0, 1e4, 1e5, 1e6, 3e7}) {
        EXPECT_LT(difference(times.predict_seconds("fill", bytes(count)), machine.seconds(bytes(count))), 1e-6)
            << count;
    }
}

TEST(KernelTimes, KeepTheNearestRateBeyondTheMeasuredRange) {
    const KernelTimes times({{.kernel = "fill", .call = bytes(100), .calls = 1, .seconds = 4},
                             {.kernel = "fill", .call = bytes(200), .calls = 1, .seconds = 6},
                             {.kernel = "copy", .call = bytes(1), .calls = 1, .seconds = 1}});

    EXPECT_DOUBLE_EQ(times.predict_seconds("fill", bytes(400)), 12);
    EXPECT_DOUBLE_EQ(times.predict_seconds("fill", bytes(50)), 2);
    EXPECT_DOUBLE_EQ(times.predict_seconds("fill", bytes(1)), 1);  // no call is shorter than the shortest one

    const KernelTimes matmuls({{.kernel = "linear", .call = matmul(8, 8, 8), .calls = 1, .seconds = 1},
                               {.kernel = "linear", .call = matmul(16, 8, 8), .calls = 1, .seconds = 1.5},
                               {.kernel = "fill", .call = bytes(1), .calls = 1, .seconds = 1e-6}});
    EXPECT_NEAR(matmuls.predict_seconds("linear", matmul(64, 8, 8)), 6, 1e-4);
}

TEST(KernelTimes, AverageTheRatesOfEqualCalls) {
    const KernelTimes times({{.kernel = "linear", .call = matmul(8, 8, 8), .calls = 1, .seconds = 1},
                             {.kernel = "linear", .call = matmul(8, 8, 8), .calls = 1, .seconds = 4}});

    EXPECT_NEAR(times.predict_seconds("linear", matmul(8, 8, 8)), 2,
                1e-12);  // the geometric mean of their rates
}

TEST(KernelTimes, FollowTheBestRatesForUnmeasuredKernels) {
    const Roofline machine{.launch = 0};
    const KernelTimes times(resolve_device_and_threads(machine));
    const KernelCall large = matmul(4096, 4096, 4096);

    EXPECT_FALSE(times.has_measured("convolution"));
    EXPECT_NEAR(times.predict_seconds("convolution", large), machine.seconds(large), 1e-6);
    EXPECT_NEAR(times.predict_seconds("gather", bytes(1e9)), 0.1, 1e-6);
}

TEST(KernelTimes, ScaleWithTheClockIfBoundByArithmetic) {
    const KernelTimes times(resolve_device_and_threads({.launch = 0}));
    const KernelCall large = matmul(512, 3072, 768);
    const double seconds = times.predict_seconds("linear", large);

    EXPECT_NEAR(times.predict_seconds("linear", large, 0.5), 2 * seconds, 1e-4 * seconds);
    EXPECT_DOUBLE_EQ(times.predict_seconds("fill", bytes(1e6), 0.5), times.predict_seconds("fill", bytes(1e6)));
}

}  // namespace
}  // namespace trireme::plan
