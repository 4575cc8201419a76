#include "trireme/setup/profiled_kernels.hpp"

#include <gtest/gtest.h>

#include "error_message.hpp"
#include "scratch_folder.hpp"
#include "trireme/base/error.hpp"
#include "unit/plan/small_profile.hpp"

namespace trireme::setup {
namespace {

using validation::message_of;
using validation::says;
using validation::ScratchFolder;

class ProfiledKernelsTest : public ::testing::Test {
protected:
    config::RunConfig config_for(const plan::Profile& profile) const {
        folder_.write("profile.json", json_of(profile));
        config::RunConfig config;
        config.costs.profiles = {{folder_.file("profile.json")}};
        config.costs.cluster = "cluster.json";
        return config;
    }

    static plan::Profile measured() {
        plan::Profile profile = validation::small_profile(1);
        profile.kernels = {{.kernel = "fill", .call = {.bytes = 100}, .calls = 1, .seconds = 4},
                           {.kernel = "fill", .call = {.bytes = 300}, .calls = 1, .seconds = 8}};
        return profile;
    }

    ScratchFolder folder_;
};

// Returns the seconds of a fill of 200 bytes on a rank.
double seconds_of_fill(const RankKernels& kernels, int rank) {
    return kernel_seconds_of(*kernels.of(rank))({.kernel = "fill", .bytes = 200}, 1);
}

TEST_F(ProfiledKernelsTest, TakeWhatTheProfileSays) {
    const RankKernels kernels = profiled_kernels(config_for(measured()), 2);

    ASSERT_NE(kernels.of(1), nullptr);
    EXPECT_DOUBLE_EQ(seconds_of_fill(kernels, 1), 6);
    EXPECT_TRUE(says(kernels.source(), "profile.json: abacus, cpu, 2 threads"));
    EXPECT_FALSE(says(kernels.source(), "rank"));
}

TEST_F(ProfiledKernelsTest, TakeOnEachDeviceWhatWasMeasuredThere) {
    config::RunConfig config = config_for(measured());
    folder_.write("slow.json", plan::json_of(validation::slower(measured(), 3)));
    config.costs.profiles.push_back({folder_.file("slow.json"), config::RankSpan{2, 3}});

    const RankKernels kernels = profiled_kernels(config, 5);

    EXPECT_DOUBLE_EQ(seconds_of_fill(kernels, 1), 6);
    EXPECT_DOUBLE_EQ(seconds_of_fill(kernels, 2), 18);
    EXPECT_DOUBLE_EQ(seconds_of_fill(kernels, 4), 6);
    EXPECT_NE(kernels.kind_of(1), kernels.kind_of(2));
    EXPECT_TRUE(says(kernels.source(), "profile.json: abacus, cpu, 2 threads (ranks 0,1,4) and "));
    EXPECT_TRUE(says(kernels.source(), "slow.json: slide rule, cpu, 2 threads (ranks 2,3)"));
}

TEST_F(ProfiledKernelsTest, AreNoneOnDevicesWhereNoneWereMeasured) {
    config::RunConfig config = config_for(measured());
    folder_.write("none.json", plan::json_of(validation::small_profile(1)));
    config.costs.profiles.push_back({folder_.file("none.json"), config::RankSpan{1, 1}});

    const RankKernels kernels = profiled_kernels(config, 2);

    EXPECT_NE(kernels.of(0), nullptr);
    EXPECT_EQ(kernels.of(1), nullptr);
    EXPECT_TRUE(says(kernels.source(), "(rank 0)"));
}

TEST_F(ProfiledKernelsTest, AreNoneWhereNoneWereMeasured) {
    EXPECT_EQ(profiled_kernels(config_for(validation::small_profile(1)), 1).of(0), nullptr);
    EXPECT_EQ(profiled_kernels({}, 1).of(0), nullptr);
    EXPECT_EQ(profiled_kernels({}, 1).source(), "");
}

TEST_F(ProfiledKernelsTest, AreForSimulatedRunsAlone) {
    config::RunConfig config = config_for(measured());
    config.costs.cluster.clear();

    EXPECT_EQ(profiled_kernels(config, 1).of(0), nullptr);
}

TEST_F(ProfiledKernelsTest, AreRefusedWithOtherNumbers) {
    config::RunConfig config = config_for(measured());
    config.precision.dtype = config::Precision::f64;

    EXPECT_TRUE(says(message_of<ConfigError>([&] { profiled_kernels(config, 1); }),
                     "was measured in f32, and this run computes in f64"));
}

}  // namespace
}  // namespace trireme::setup
