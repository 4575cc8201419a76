#include "train/profiled_kernels.hpp"

#include <gtest/gtest.h>

#include "error_message.hpp"
#include "scratch_folder.hpp"
#include "trireme/base/error.hpp"
#include "unit/plan/small_profile.hpp"

namespace trireme {
namespace {

using validation::message_of;
using validation::says;
using validation::ScratchFolder;

class ProfiledKernelsTest : public ::testing::Test {
protected:
    RunConfig config_for(const Profile& profile) const {
        folder_.write("profile.json", json_of(profile));
        RunConfig config;
        config.costs.profile = folder_.file("profile.json");
        config.costs.cluster = "cluster.json";
        return config;
    }

    static Profile measured() {
        Profile profile = validation::small_profile(1);
        profile.kernels = {{.kernel = "fill", .call = {.bytes = 100}, .calls = 1, .seconds = 4},
                           {.kernel = "fill", .call = {.bytes = 300}, .calls = 1, .seconds = 8}};
        return profile;
    }

private:
    ScratchFolder folder_;
};

TEST_F(ProfiledKernelsTest, TakeWhatTheProfileSays) {
    const std::optional<ProfiledKernels> kernels = profiled_kernels(config_for(measured()));

    ASSERT_TRUE(kernels);
    EXPECT_DOUBLE_EQ(kernel_seconds_of(*kernels)({.kernel = "fill", .bytes = 200}, 1), 6);
    EXPECT_TRUE(says(kernels->source, "profile.json: abacus, cpu, 2 threads"));
}

TEST_F(ProfiledKernelsTest, AreNoneWhereNoneWereMeasured) {
    EXPECT_FALSE(profiled_kernels(config_for(validation::small_profile(1))));
    EXPECT_FALSE(profiled_kernels({}));
}

TEST_F(ProfiledKernelsTest, AreForSimulatedRunsAlone) {
    RunConfig config = config_for(measured());
    config.costs.cluster.clear();

    EXPECT_FALSE(profiled_kernels(config));
}

TEST_F(ProfiledKernelsTest, AreRefusedWithOtherNumbers) {
    RunConfig config = config_for(measured());
    config.precision.dtype = Precision::f64;

    EXPECT_TRUE(says(message_of<ConfigError>([&] { profiled_kernels(config); }),
                     "was measured in f32, and this run computes in f64"));
}

}  // namespace
}  // namespace trireme
