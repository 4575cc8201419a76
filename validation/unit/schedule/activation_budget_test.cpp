#include "schedule/search/activation_budget.hpp"

#include <gtest/gtest.h>

namespace trireme::schedule {
namespace {

TEST(ActivationBudget, AcceptsMicrobatchesUntilItsLimitIsReached) {
    ActivationBudget budget({1, 1, 1});
    budget.set_limit(2);

    budget.stash_activation(0);
    EXPECT_TRUE(budget.may_stash(1));
    budget.stash_activation(1);
    EXPECT_FALSE(budget.may_stash(2));
    budget.release_activation(0);
    EXPECT_TRUE(budget.may_stash(2));
    EXPECT_EQ(budget.peak(), 2);
}

TEST(ActivationBudget, ReservesMemoryForTheOldestPendingMicrobatch) {
    ActivationBudget budget({1, 1, 1});
    budget.set_limit(2);

    EXPECT_TRUE(budget.may_stash(2));
    budget.stash_activation(2);
    EXPECT_FALSE(budget.may_stash(1));  // no memory would be left for the oldest
    EXPECT_TRUE(budget.may_stash(0));
}

// With two stages in a team, a micro-batch returns to the team before it leaves.
TEST(ActivationBudget, ReservesMemoryForMicrobatchesReturningToTheTeam) {
    ActivationBudget budget({2, 2, 2});
    budget.set_limit(3);

    budget.stash_activation(0);
    EXPECT_TRUE(budget.may_stash(1));
    budget.stash_activation(1);
    EXPECT_FALSE(budget.may_stash(2));  // it would take the last memory, for which both others wait
    EXPECT_TRUE(budget.may_stash(0));
    EXPECT_FALSE(budget.may_stash(1));
}

TEST(ActivationBudget, CountsMemoryThatOlderMicrobatchesWillFree) {
    ActivationBudget budget({2, 2, 2});
    budget.set_limit(4);

    budget.stash_activation(0);
    budget.stash_activation(1);
    EXPECT_TRUE(budget.may_stash(2));  // memory is left for the oldest, which then frees two
    budget.stash_activation(2);
    EXPECT_FALSE(budget.may_stash(2));
    EXPECT_TRUE(budget.may_stash(0));
}

}  // namespace
}  // namespace trireme::schedule
