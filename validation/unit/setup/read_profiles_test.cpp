#include "setup/costs/read_profiles.hpp"

#include <gtest/gtest.h>

#include "error_message.hpp"
#include "scratch_folder.hpp"
#include "trireme/base/error.hpp"
#include "unit/plan/small_profile.hpp"

namespace trireme::setup {
namespace {

using validation::slower;
using validation::small_profile;

class ProfileFiles : public ::testing::Test {
protected:
    std::string file(const char* name, const plan::Profile& profile) const {
        return folder_.write(name, to_json(profile));
    }
    static config::RunConfig config_of(const std::vector<config::ProfileFile>& files) {
        config::RunConfig config;
        config.costs.profiles = files;
        return config;
    }
    static std::string refusal(const std::vector<config::ProfileFile>& files) {
        return validation::catch_message<ConfigError>([&] { read_profiles(config_of(files)); });
    }

    validation::ScratchFolder folder_;
    const std::string fast_ = file("fast.json", small_profile(2));
    const std::string slow_ = file("slow.json", slower(small_profile(2), 3));
};

TEST_F(ProfileFiles, ApplyToTheRanksTheyAreGivenFor) {
    const plan::RankProfiles profiles = read_profiles(config_of(
        {{fast_, config::RankSpan{0, 1}}, {slow_, config::RankSpan{2, 2}}, {fast_, config::RankSpan{3, 3}}}));

    EXPECT_EQ(profiles.kinds.size(), 2U);
    EXPECT_EQ(profiles.kind_of_rank, (std::vector<std::size_t>{0, 0, 1, 0}));
    EXPECT_EQ(profiles.find_profile(2).machine, "slide rule");
}

TEST_F(ProfileFiles, ApplyToAllOtherRanksIfNoRanksAreGiven) {
    const plan::RankProfiles profiles = read_profiles(config_of({{slow_, config::RankSpan{1, 2}}, {fast_}}));

    EXPECT_EQ(profiles.find_profile(0).machine, "abacus");
    EXPECT_EQ(profiles.find_profile(1).machine, "slide rule");
    EXPECT_EQ(profiles.find_profile(2).machine, "slide rule");
    EXPECT_EQ(profiles.find_profile(3).machine, "abacus");
    EXPECT_EQ(list_profile_paths(config_of({{slow_, config::RankSpan{1, 2}}, {fast_}}).costs.profiles),
              (std::vector{fast_, slow_}));
}

TEST_F(ProfileFiles, AreRejectedIfTheirMicrobatchesDiffer) {
    plan::Profile longer = slower(small_profile(2), 3);
    longer.microbatch.rows = 512;

    const std::string path = file("longer.json", longer);

    EXPECT_EQ(refusal({{fast_}, {path, config::RankSpan{1, 1}}}),
              cat("--profile ", path, " was measured with 512 rows in a micro-batch of 4 samples, but ", fast_,
                  " with 256 rows in a micro-batch of 4 samples; measure both with the same --batch and "
                  "--max-length"));
}

TEST_F(ProfileFiles, AreRejectedIfTheirModelsDiffer) {
    plan::Profile wider = slower(small_profile(2), 3);
    wider.model = "gpt2";
    wider.layers.back().parameters *= 2;

    const std::string path = file("wider.json", wider);

    EXPECT_EQ(refusal({{fast_}, {path, config::RankSpan{1, 1}}}),
              cat("--profile ", path, " is of another model (gpt2) than ", fast_,
                  " (gpt2-tiny); measure both with the same model options"));
}

TEST_F(ProfileFiles, AreRejectedIfMeasuredInADifferentDtype) {
    plan::Profile exact = slower(small_profile(2), 3);
    exact.dtype = "f64";

    const std::string path = file("exact.json", exact);

    EXPECT_EQ(refusal({{fast_}, {path, config::RankSpan{1, 1}}}),
              cat("--profile ", path,
                  " was measured in f64, but this run computes in f32; measure again with --dtype f32"));
}

TEST_F(ProfileFiles, AreRejectedIfOneCannotBeRead) {
    EXPECT_EQ(refusal({{fast_}, {"none.json", config::RankSpan{1, 1}}}),
              "--profile none.json cannot be read: No such file or directory; check its name");
}

}  // namespace
}  // namespace trireme::setup
