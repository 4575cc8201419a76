#include <gtest/gtest.h>

#include "trireme/policy/policy.hpp"

namespace trireme::policy {
namespace {

TEST(RecordedDecisions, AreTakenOnlyAfterTheirSteps) {
    const plan::Decision first{.step = 2, .layout = {.layers = 3}, .policy = "by hand"};
    const plan::Decision second{.step = 7, .layout = {.layers = 5}, .policy = "by hand"};
    const Policy policy = make_recorded_policy({first, second});

    EXPECT_EQ(policy({.step = 2}, {}), first);
    EXPECT_EQ(policy({.step = 7}, {}), second);
    EXPECT_EQ(policy({.step = 0}, {}), std::nullopt);
    EXPECT_EQ(policy({.step = 3}, {}), std::nullopt);
}

TEST(RecordedDecisions, AreNamedRecordedIfNoPolicyIsGiven) {
    EXPECT_EQ(make_recorded_policy({{.step = 1}})({.step = 1}, {})->policy, "recorded");
}

}  // namespace
}  // namespace trireme::policy
