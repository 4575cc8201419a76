#include "trireme/setup/profile_choice.hpp"

#include <gtest/gtest.h>

#include "error_message.hpp"
#include "scratch_folder.hpp"
#include "trireme/base/error.hpp"
#include "unit/plan/small_profile.hpp"

namespace trireme::setup {
namespace {

using validation::catch_message;
using validation::slower;
using validation::small_profile;

using Files = std::vector<config::ProfileFile>;

std::string refusal_of_ranks(const Files& files, int ranks) {
    return catch_message<ConfigError>([&] { check_profile_ranks(files, ranks); });
}

TEST(ProfileRanks, MayBeOmittedForOneFile) {
    check_profile_ranks({}, 4);
    check_profile_ranks({{"a.json"}}, 4);
    check_profile_ranks({{"a.json"}, {"b.json", config::RankSpan{2, 3}}}, 4);
    check_profile_ranks({{"a.json", config::RankSpan{0, 1}}, {"b.json", config::RankSpan{2, 3}}}, 4);
}

TEST(ProfileRanks, MustBeRanksOfTheJob) {
    EXPECT_EQ(refusal_of_ranks({{"a.json", config::RankSpan{0, 3}}, {"b.json", config::RankSpan{4, 7}}}, 4),
              "--profile 4-7=b.json names rank 7, but the job has 4 ranks; name ranks from 0 to 3");
    EXPECT_EQ(
        refusal_of_ranks({{"a.json", config::RankSpan{0, 2'000'000'000}}}, 1),
        "--profile 0-2000000000=a.json names rank 2000000000, but the job has 1 rank; name ranks from 0 to 0");
}

TEST(ProfileRanks, MustBeNamedOnlyOnce) {
    EXPECT_EQ(refusal_of_ranks({{"a.json", config::RankSpan{0, 2}}, {"b.json", config::RankSpan{2, 3}}}, 4),
              "--profile names rank 2 twice: 0-2=a.json and 2-3=b.json; keep one of them");
}

TEST(ProfileRanks, MustCoverAllRanksOfTheJob) {
    EXPECT_EQ(refusal_of_ranks({{"a.json", config::RankSpan{0, 1}}, {"b.json", config::RankSpan{5, 5}}}, 7),
              "--profile names no file for ranks 2-4,6; add 2-4=FILE, or a file without ranks for all other "
              "ranks");
}

TEST(ProfileRanks, MustBeGivenIfDevicesAreUnknown) {
    EXPECT_EQ(refusal_of_ranks({{"a.json"}, {"b.json"}}, 8),
              "--profile names 2 files without ranks, but this command does not know the devices of the ranks; "
              "name the ranks: 0-3=a.json,4-7=b.json");
}

class DeviceProfiles : public ::testing::Test {
protected:
    std::string refusal(const Files& files, const std::vector<std::string>& devices) const {
        return catch_message<ConfigError>([&] { assign_files_to_devices(files, devices); });
    }

    validation::ScratchFolder folder_;
    const std::string fast_ = folder_.write("fast.json", plan::to_json(small_profile(1)));
    const std::string slow_ = folder_.write("slow.json", plan::to_json(slower(small_profile(1), 2)));
};

TEST_F(DeviceProfiles, AreAssignedByDeviceName) {
    const Files files =
        assign_files_to_devices({{slow_}, {fast_}}, {"abacus", "abacus", "slide rule", "abacus"});

    EXPECT_EQ(files, (Files{{fast_, config::RankSpan{0, 1}},
                            {slow_, config::RankSpan{2, 2}},
                            {fast_, config::RankSpan{3, 3}}}));
    check_profile_ranks(files, 4);
}

TEST_F(DeviceProfiles, AreAssignedByRankBeforeByDeviceName) {
    const Files files = assign_files_to_devices({{slow_}, {fast_}, {"other.json", config::RankSpan{1, 2}}},
                                                {"abacus", "slide rule", "pencil", "slide rule"});

    EXPECT_EQ(files, (Files{{fast_, config::RankSpan{0, 0}},
                            {"other.json", config::RankSpan{1, 2}},
                            {slow_, config::RankSpan{3, 3}}}));
}

TEST_F(DeviceProfiles, MustCoverTheDeviceOfEveryRank) {
    EXPECT_EQ(
        refusal({{slow_}, {fast_}}, {"abacus", "abacus", "slide rule", "pencil"}),
        "--profile names no file for the device of rank 3, 'pencil' (the given files are for 'abacus' and "
        "'slide rule'); add a file that was measured on it, or 3=FILE");
    EXPECT_EQ(
        refusal({{slow_}, {fast_}}, {"pencil", "pencil", "abacus", "pencil"}),
        "--profile names no file for the device of ranks 0,1,3, 'pencil' (the given files are for 'abacus' and "
        "'slide rule'); add a file that was measured on it, or 0-1=FILE");
    EXPECT_TRUE(validation::says(refusal({{slow_}, {fast_}, {"other.json", config::RankSpan{1, 1}}},
                                         {"pencil", "pencil", "abacus", "pencil"}),
                                 "for the device of ranks 0,3, 'pencil'"));
}

TEST_F(DeviceProfiles, AreRejectedIfTwoAreForOneDevice) {
    const std::string again = folder_.write("again.json", plan::to_json(small_profile(1)));

    EXPECT_EQ(
        refusal({{fast_}, {again}}, {"abacus"}),
        cat("--profile names ", fast_, " and ", again,
            ", and both were measured on 'abacus'; keep one of them, or assign them to ranks: 0-3=", again));
}

TEST_F(DeviceProfiles, AreRejectedIfUnreadableOrForMissingRanks) {
    EXPECT_EQ(refusal({{fast_}, {"none.json"}}, {"abacus"}),
              "--profile none.json cannot be read: No such file or directory; check its name");
    EXPECT_EQ(refusal({{fast_}, {slow_}, {"a.json", config::RankSpan{1, 1}}}, {"abacus"}),
              "--profile 1=a.json names rank 1, but the job has 1 rank; name ranks from 0 to 0");
}

}  // namespace
}  // namespace trireme::setup
