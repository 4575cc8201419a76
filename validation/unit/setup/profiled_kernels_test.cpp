#include "trireme/setup/profiled_kernels.hpp"

#include <gtest/gtest.h>

#include "error_message.hpp"
#include "scratch_folder.hpp"
#include "trireme/base/error.hpp"
#include "trireme/setup/model_work.hpp"
#include "unit/plan/small_profile.hpp"

namespace trireme::setup {
namespace {

using validation::catch_message;
using validation::says;
using validation::ScratchFolder;

class KernelsOfAProfile : public ::testing::Test {
protected:
    config::RunConfig config_for(const plan::Profile& profile) const {
        folder_.write("profile.json", to_json(profile));
        config::RunConfig config;
        config.costs.profiles = {{folder_.file("profile.json")}};
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
    return make_kernel_seconds(*kernels.find_kernels(rank))({.kernel = "fill", .bytes = 200}, 1);
}

TEST_F(KernelsOfAProfile, UseTheTimesOfTheProfile) {
    const RankKernels kernels = read_profiled_kernels(config_for(measured()), 2);

    ASSERT_NE(kernels.find_kernels(1), nullptr);
    EXPECT_DOUBLE_EQ(seconds_of_fill(kernels, 1), 6);
    EXPECT_TRUE(says(kernels.describe_source(), "profile.json: abacus, cpu, 2 threads"));
    EXPECT_FALSE(says(kernels.describe_source(), "rank"));
}

TEST_F(KernelsOfAProfile, UseTheTimesMeasuredOnEachDevice) {
    config::RunConfig config = config_for(measured());
    folder_.write("slow.json", plan::to_json(validation::slower(measured(), 3)));
    config.costs.profiles.push_back({folder_.file("slow.json"), config::RankSpan{2, 3}});

    const RankKernels kernels = read_profiled_kernels(config, 5);

    EXPECT_DOUBLE_EQ(seconds_of_fill(kernels, 1), 6);
    EXPECT_DOUBLE_EQ(seconds_of_fill(kernels, 2), 18);
    EXPECT_DOUBLE_EQ(seconds_of_fill(kernels, 4), 6);
    EXPECT_NE(kernels.find_kind(1), kernels.find_kind(2));
    EXPECT_TRUE(says(kernels.describe_source(), "profile.json: abacus, cpu, 2 threads (ranks 0,1,4) and "));
    EXPECT_TRUE(says(kernels.describe_source(), "slow.json: slide rule, cpu, 2 threads (ranks 2,3)"));
}

TEST_F(KernelsOfAProfile, AreMissingForDevicesWithoutMeasurements) {
    config::RunConfig config = config_for(measured());
    folder_.write("none.json", plan::to_json(validation::small_profile(1)));
    config.costs.profiles.push_back({folder_.file("none.json"), config::RankSpan{1, 1}});

    // Without a cluster, the times of rank 0 could not be compared with those of rank 1.
    EXPECT_EQ(read_profiled_kernels(config, 2).find_kernels(0), nullptr);
    config.costs.cluster = "cluster.json";
    const RankKernels kernels = read_profiled_kernels(config, 2);

    EXPECT_NE(kernels.find_kernels(0), nullptr);
    EXPECT_EQ(kernels.find_kernels(1), nullptr);
    EXPECT_TRUE(says(kernels.describe_source(), "(rank 0)"));
}

TEST_F(KernelsOfAProfile, AreMissingIfNothingWasMeasured) {
    EXPECT_EQ(read_profiled_kernels(config_for(validation::small_profile(1)), 1).find_kernels(0), nullptr);
    EXPECT_EQ(read_profiled_kernels({}, 1).find_kernels(0), nullptr);
    EXPECT_EQ(read_profiled_kernels({}, 1).describe_source(), "");
}

TEST_F(KernelsOfAProfile, TakeTheirRealTimeWithoutACluster) {
    Job job;
    job.kernels = read_profiled_kernels(config_for(measured()), 1);
    const device::Cost cost{.kernel = "fill", .bytes = 200};

    EXPECT_FALSE(make_kernel_seconds(job, 0));
    EXPECT_EQ(make_relative_kernel_seconds(job, 0)(cost, 1), seconds_of_fill(job.kernels, 0));
}

TEST_F(KernelsOfAProfile, AreRejectedIfMeasuredInADifferentDtype) {
    config::RunConfig config = config_for(measured());
    config.precision.dtype = config::Precision::f64;

    EXPECT_TRUE(says(catch_message<ConfigError>([&] { read_profiled_kernels(config, 1); }),
                     "was measured in f32, but this run computes in f64"));
}

}  // namespace
}  // namespace trireme::setup
