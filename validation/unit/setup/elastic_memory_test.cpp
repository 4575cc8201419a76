#include "trireme/setup/elastic_memory.hpp"

#include <gtest/gtest.h>

#include "error_message.hpp"
#include "trireme/base/error.hpp"

namespace trireme::setup {
namespace {

using validation::catch_message;
using Limits = std::vector<std::size_t>;

// Two ranks with 100 and 80 free bytes, of which they may use 95 and 76.
class MemoryLimits : public testing::Test {
protected:
    MemoryLimits() {
        config_.policy.elastic = config::Elastic::length;
        config_.precision.free_gpu_memory = {100, 80};
        config_.precision.usable_gpu_memory = {95, 76};
    }

    void resume_with(const Limits& limits) { config_.resumed_options.emplace().saved.memory_limits = limits; }

    Limits find(const std::optional<SimulatedDevices>& devices = std::nullopt) const {
        return find_memory_limits(config_, devices, 2);
    }

    config::RunConfig config_;
    const SimulatedDevices devices_{
        .cluster = "",
        .kinds = {{.name = "A", .memory = 70, .ranks = 1}, {.name = "B", .memory = 90, .ranks = 1}}};
};

TEST_F(MemoryLimits, AreTheUsableMemoryOfTheDevices) {
    EXPECT_EQ(find(), (Limits{95, 76}));
    EXPECT_EQ(find(devices_), (Limits{70, 90}));

    config_.policy.elastic = config::Elastic::off;
    EXPECT_EQ(find(), Limits());
}

TEST_F(MemoryLimits, StayWhenTheRunIsResumed) {
    resume_with({97, 71});
    EXPECT_EQ(find(), (Limits{97, 71}));

    resume_with({69, 90});
    EXPECT_EQ(find(devices_), (Limits{69, 90}));

    config_.policy.elastic = config::Elastic::off;
    EXPECT_EQ(find(), Limits());
}

TEST_F(MemoryLimits, AreFoundAnewForAnotherNumberOfRanks) {
    resume_with({50, 50, 50});
    EXPECT_EQ(find(), (Limits{95, 76}));

    resume_with({});
    EXPECT_EQ(find(), (Limits{95, 76}));
}

TEST_F(MemoryLimits, AreReplacedByMemoryLimit) {
    config_.layout.memory_limit = 60;
    EXPECT_EQ(find(), (Limits{60, 60}));

    resume_with({97, 500});
    EXPECT_EQ(find(), (Limits{60, 60}));
}

TEST_F(MemoryLimits, OfTheResumedRunMustBeFree) {
    resume_with({100, 80});
    EXPECT_EQ(find(), (Limits{100, 80}));

    resume_with({100, 2'000'000});
    EXPECT_EQ(
        catch_message<ConfigError>([&] { find(); }),
        "the resumed run had a memory limit of 2,000,000 bytes on rank 1, but only 80 bytes of the rank's "
        "device are free now; set a lower limit with --memory-limit");
    EXPECT_EQ(catch_message<ConfigError>([&] { find(devices_); }),
              "the resumed run had a memory limit of 100 bytes on rank 0, but only 70 bytes of the rank's "
              "device are free now; set a lower limit with --memory-limit");
}

}  // namespace
}  // namespace trireme::setup
