#include "schedule/search/activation_room.hpp"

#include <gtest/gtest.h>

namespace trireme::schedule {
namespace {

TEST(ActivationRoom, OfOneStageTakesMicrobatchesUntilItIsFull) {
    ActivationRoom room({1, 1, 1});
    room.set_most(2);

    room.keep(0);
    EXPECT_TRUE(room.is_safe_for(1));
    room.keep(1);
    EXPECT_FALSE(room.is_safe_for(2));
    room.release(0);
    EXPECT_TRUE(room.is_safe_for(2));
    EXPECT_EQ(room.peak(), 2);
}

TEST(ActivationRoom, LeavesRoomForAnOlderMicrobatchThatHasNotCome) {
    ActivationRoom room({1, 1, 1});
    room.set_most(2);

    EXPECT_TRUE(room.is_safe_for(2));
    room.keep(2);
    EXPECT_FALSE(room.is_safe_for(1));  // no room would be left for the oldest
    EXPECT_TRUE(room.is_safe_for(0));
}

// With two stages in a team, a micro-batch returns to the team before it leaves.
TEST(ActivationRoom, LeavesRoomForWhatComesBack) {
    ActivationRoom room({2, 2, 2});
    room.set_most(3);

    room.keep(0);
    EXPECT_TRUE(room.is_safe_for(1));
    room.keep(1);
    EXPECT_FALSE(room.is_safe_for(2));  // it would take the last room, which both others wait for
    EXPECT_TRUE(room.is_safe_for(0));
    EXPECT_FALSE(room.is_safe_for(1));
}

TEST(ActivationRoom, CountsOnWhatOlderOnesGiveBack) {
    ActivationRoom room({2, 2, 2});
    room.set_most(4);

    room.keep(0);
    room.keep(1);
    EXPECT_TRUE(room.is_safe_for(2));  // room for one is left for the oldest, which then frees two
    room.keep(2);
    EXPECT_FALSE(room.is_safe_for(2));
    EXPECT_TRUE(room.is_safe_for(0));
}

}  // namespace
}  // namespace trireme::schedule
