#include <gtest/gtest.h>

#include "tools/profile/measurements.hpp"

namespace trireme::tools {
namespace {

std::vector<MessageTime> times_on(const layout::Link& link) {
    std::vector<MessageTime> times;
    for (double bytes = 8; bytes < 1e7; bytes *= 4)
        times.push_back({.bytes = bytes, .seconds = link.latency + bytes / link.bandwidth});
    return times;
}

TEST(FittedLink, RecoversTheLinkFromExactTimes) {
    for (const layout::Link& link : {layout::Link{1e-6, 1e10}, layout::Link{5e-5, 1e8}, layout::Link{0, 1e9}}) {
        const layout::Link fitted = fit_link(times_on(link));

        EXPECT_NEAR(fitted.latency, link.latency, 1e-12);
        EXPECT_NEAR(fitted.bandwidth, link.bandwidth, 1e-6 * link.bandwidth);
    }
}

TEST(FittedLink, WeighsAllMessageSizesByRelativeError) {
    std::vector<MessageTime> times = times_on({1e-6, 1e10});
    for (std::size_t i = 0; i < times.size(); i += 2) times[i].seconds *= 1.1;

    const layout::Link fitted = fit_link(times);

    EXPECT_NEAR(fitted.latency, 1.05e-6, 0.06e-6);
    EXPECT_NEAR(fitted.bandwidth, 0.95e10, 0.06e10);
}

TEST(FittedLink, IsNeverNegative) {
    const std::vector<MessageTime> falling{{8, 2e-6}, {64, 1e-6}};
    EXPECT_GT(fit_link(falling).latency, 1e-6);
    EXPECT_EQ(fit_link(falling).bandwidth, 64 / 1e-6);

    const std::vector<MessageTime> steep{{10, 1e-6}, {100, 2e-5}};
    EXPECT_EQ(fit_link(steep).latency, 0);
    EXPECT_GT(fit_link(steep).bandwidth, 100 / 2e-5);
}

}  // namespace
}  // namespace trireme::tools
