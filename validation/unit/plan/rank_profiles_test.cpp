#include "trireme/plan/rank_profiles.hpp"

#include <gtest/gtest.h>

#include "unit/plan/small_profile.hpp"

namespace trireme::plan {
namespace {

using validation::slower;
using validation::small_profile;

TEST(RankProfiles, AreOfTheFirstKindByDefault) {
    const RankProfiles profiles{.kinds = {small_profile(1), slower(small_profile(1), 2)},
                                .kind_of_rank = {0, 1, 0, 1}};

    EXPECT_EQ(profiles.find_profile(1).machine, "slide rule");
    EXPECT_EQ(profiles.find_profile(2).machine, "abacus");
    EXPECT_EQ(profiles.find_profile(4).machine, "abacus");
    EXPECT_EQ((RankProfiles{.kinds = {small_profile(1)}}).find_profile(7).machine, "abacus");
}

// The size of the message decides which of two links is slower.
TEST(RankProfiles, LinkDifferentKindsByTheSlowerOfTheirLinks) {
    RankProfiles profiles{.kinds = {small_profile(1), small_profile(1)}, .kind_of_rank = {0, 1, 0}};
    const layout::Link prompt{.latency = 0, .bandwidth = 10};
    const layout::Link wide{.latency = 5, .bandwidth = 100};
    profiles.kinds[0].links = {{.link = prompt}};
    profiles.kinds[1].links = {{.link = wide}};

    EXPECT_EQ(profiles.find_slower_link(0, 1, 10), wide);
    EXPECT_EQ(profiles.find_slower_link(1, 0, 1000), prompt);
    EXPECT_EQ(profiles.find_slower_link(0, 2, 10), prompt);
}

}  // namespace
}  // namespace trireme::plan
