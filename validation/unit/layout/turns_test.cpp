#include <gtest/gtest.h>

#include "trireme/layout/shares.hpp"

namespace trireme::layout {
namespace {

using Numbers = std::vector<std::size_t>;

TEST(Turns, AreRoundRobinForEqualSpeeds) {
    EXPECT_EQ(assign_turns({1, 1, 1}, 7), (Numbers{0, 1, 2, 0, 1, 2, 0}));
    EXPECT_EQ(assign_turns({4, 4}, 3), (Numbers{0, 1, 0}));
}

TEST(Turns, AreSpreadEvenlyOverTheItems) {
    EXPECT_EQ(assign_turns({3, 1}, 8), (Numbers{0, 0, 0, 1, 0, 0, 0, 1}));
}

TEST(Turns, EqualThePartsIfTheseAddUpToTheCount) {
    for (const std::vector<double>& parts : std::vector<std::vector<double>>{{5, 3}, {7, 1, 1}, {2, 3, 5, 6}}) {
        std::size_t all = 0;
        for (const double part : parts) all += static_cast<std::size_t>(part);
        Numbers done(parts.size());
        for (const std::size_t who : assign_turns(parts, all)) ++done[who];
        for (std::size_t r = 0; r < parts.size(); ++r) EXPECT_EQ(done[r], static_cast<std::size_t>(parts[r]));
    }
}

TEST(Turns, AreAtLeastOneIfThereAreEnoughItems) {
    EXPECT_EQ(count_turns({1, 100}, 8), (Numbers{1, 7}));
    EXPECT_EQ(count_turns({1, 100, 100}, 2), (Numbers{0, 1, 1}));
}

}  // namespace
}  // namespace trireme::layout
