#include "trireme/layout/links.hpp"

#include <gtest/gtest.h>

#include "error_message.hpp"
#include "layout/group_plan.hpp"
#include "trireme/base/error.hpp"

namespace trireme::layout {
namespace {

const Link fast{.latency = 1, .bandwidth = 8};
const Link slow{.latency = 2, .bandwidth = 4};
const std::vector<LinkLevel> nodes_of_four{{.ranks = 4, .link = fast}, {.ranks = 0, .link = slow}};

TEST(Links, TakeTheirLatencyPlusBytesOverBandwidth) {
    EXPECT_EQ(fast.predict_seconds(16), 3);
    EXPECT_EQ(fast.predict_seconds(0), 1);
    EXPECT_EQ(Link{}.predict_seconds(16), 0);
}

TEST(Links, AreThoseOfTheSmallestGroupWithBothRanks) {
    EXPECT_EQ(find_link_between(nodes_of_four, 0, 3), fast);
    EXPECT_EQ(find_link_between(nodes_of_four, 3, 4), slow);
    EXPECT_EQ(find_link_between(nodes_of_four, 5, 7), fast);
    EXPECT_EQ(find_link_between({}, 0, 1), Link{});
}

// An all-reduce over three ranks takes four rounds, each with a third of the bytes.
TEST(Links, PredictARingAllReduce) {
    EXPECT_EQ(predict_all_reduce_seconds(fast, 3, 24), 4 * (1 + 1));
    EXPECT_EQ(predict_all_reduce_seconds(fast, 1, 24), 0);
    EXPECT_EQ(predict_all_reduce_seconds({}, 3, 24), 0);
}

TEST(GroupLevels, AreNestedGroupsOfRanks) {
    EXPECT_EQ(make_group_levels(nodes_of_four, 12), (std::vector<GroupLevel>{{4, 1, fast}, {3, 4, slow}}));
    EXPECT_EQ(make_group_levels(nodes_of_four, 4), (std::vector<GroupLevel>{{4, 1, fast}}));
    EXPECT_EQ(make_group_levels(nodes_of_four, 2), (std::vector<GroupLevel>{{2, 1, fast}}));
    EXPECT_EQ(make_group_levels({{.ranks = 4, .link = fast}}, 8),
              (std::vector<GroupLevel>{{4, 1, fast}, {2, 4, {}}}));
    EXPECT_EQ(make_group_levels({}, 6), (std::vector<GroupLevel>{{6, 1, {}}}));
    EXPECT_EQ(make_group_levels({}, 1), (std::vector<GroupLevel>{{1, 1, {}}}));
}

TEST(GroupLevels, RejectRankCountsThatDoNotFillGroups) {
    EXPECT_EQ(validation::catch_message<ConfigError>([] { make_group_levels(nodes_of_four, 6); }),
              "the links of the profile join groups of 4 ranks, but 6 ranks do not form whole groups; use a "
              "multiple of 4 ranks");
}

}  // namespace
}  // namespace trireme::layout
