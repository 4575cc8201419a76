#include "trireme/layout/box.hpp"

#include <gtest/gtest.h>

namespace trireme::layout {
namespace {

TEST(Range, IntersectsInTheOverlap) {
    EXPECT_EQ(intersect(Range{2, 5}, Range{4, 9}), (Range{4, 3}));
    EXPECT_EQ(intersect(Range{4, 9}, Range{2, 5}), (Range{4, 3}));
    EXPECT_EQ(intersect(Range{0, 10}, Range{3, 2}), (Range{3, 2}));
}

TEST(Range, HasAnEmptyIntersectionWithItsNeighbour) {
    EXPECT_EQ(intersect(Range{0, 4}, Range{4, 4}).count, 0U);
    EXPECT_EQ(intersect(Range{9, 1}, Range{0, 3}).count, 0U);
}

TEST(Box, IntersectsInRowsAndColumns) {
    const Box left{{0, 4}, {0, 6}};
    const Box right{{2, 4}, {5, 6}};

    EXPECT_EQ(intersect(left, right), (Box{{2, 2}, {5, 1}}));
    EXPECT_EQ(intersect(left, right).size(), 2U);
}

TEST(Box, IsEmptyIfOneAxisDoesNotOverlap) {
    EXPECT_TRUE(intersect(Box{{0, 4}, {0, 6}}, Box{{0, 4}, {6, 2}}).is_empty());
    EXPECT_FALSE((Box{{0, 1}, {0, 1}}.is_empty()));
}

}  // namespace
}  // namespace trireme::layout
