#include "trireme/layout/circle.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "error_message.hpp"
#include "trireme/base/error.hpp"

namespace trireme::layout {
namespace {

// Returns a circle of ranks with gaps between them. Its root, rank 17, is not the lowest of five or more.
Circle circle_of(int size, Spread spread) {
    Circle circle{.spread = spread};
    for (int place = 0; place < size; ++place) circle.ranks.push_back((5 * place + 17) % 37);
    return circle;
}

template <class Use>
void for_each_circle(Use&& use) {
    for (const Spread spread : {Spread::tree, Spread::direct}) {
        for (int size = 1; size <= 33; ++size) {
            SCOPED_TRACE(cat(size, spread == Spread::tree ? " in a tree" : " directly"));
            use(circle_of(size, spread));
        }
    }
}

// Simulates a broadcast in which each rank that has the message sends it to one rank per round. Returns the
// number of rounds; -1 if a rank never receives the message.
int simulated_rounds(const Circle& circle) {
    std::map<int, std::size_t> told{{circle.ranks.front(), 0}};  // messages sent, per rank that has received
    int rounds = 0;
    for (; told.size() < circle.ranks.size(); ++rounds) {
        const std::map<int, std::size_t> before = told;
        for (const auto& [rank, count] : before) {
            const std::vector<int> below = circle.below(rank);
            if (count == below.size()) continue;
            ++told.at(rank);
            told.emplace(below[count], 0);
        }
        if (told == before) return -1;  // a rank never receives it
    }
    return rounds;
}

int rounded_up_log2(std::size_t number) {
    int log = 0;
    while ((std::size_t{1} << log) < number) ++log;
    return log;
}

TEST(Circle, HasOneAboveEverybodyButTheMiddle) {
    for_each_circle([](const Circle& circle) {
        EXPECT_FALSE(circle.above(circle.ranks.front()));
        for (std::size_t place = 1; place < circle.ranks.size(); ++place)
            EXPECT_TRUE(circle.above(circle.ranks[place])) << "rank " << circle.ranks[place];
    });
}

TEST(Circle, HasBelowARankThoseWhomItIsAbove) {
    for_each_circle([](const Circle& circle) {
        for (const int rank : circle.ranks) {
            std::set<int> expected;
            for (const int other : circle.ranks) {
                if (circle.above(other) == rank) expected.insert(other);
            }

            const std::vector<int> below = circle.below(rank);
            EXPECT_EQ(std::set<int>(below.begin(), below.end()), expected) << "rank " << rank;
            EXPECT_EQ(below.size(), expected.size()) << "rank " << rank;
        }
    });
}

TEST(Circle, ReachesAllInItsRounds) {
    for_each_circle([](const Circle& circle) {
        const std::size_t size = circle.ranks.size();
        const bool is_tree = circle.spread == Spread::tree;

        EXPECT_EQ(circle.rounds(), is_tree ? rounded_up_log2(size) : static_cast<int>(size) - 1);
        EXPECT_EQ(simulated_rounds(circle), circle.rounds());
    });
}

// By hand: in the first round the root, rank 7, sends to a rank whose subtree has half of all ranks.
TEST(Circle, OfFourIsTwoPairsInATree) {
    const Circle tree{.ranks = {7, 2, 9, 4}}, direct{.ranks = {7, 2, 9, 4}, .spread = Spread::direct};

    EXPECT_EQ(tree.below(7).size(), 2);
    EXPECT_EQ(tree.below(tree.below(7)[0]).size(), 1);
    EXPECT_TRUE(tree.below(tree.below(7)[1]).empty());
    EXPECT_EQ(tree.rounds(), 2);
    EXPECT_EQ(direct.below(7).size(), 3);
    EXPECT_EQ(direct.above(4), 7);
    EXPECT_EQ(direct.rounds(), 3);
}

TEST(Circle, KnowsNobodyOutside) {
    for_each_circle([](const Circle& circle) {
        const std::string expected = cat("rank 37 is not in a circle of ", circle.ranks.size());
        EXPECT_EQ(validation::message_of<BugError>([&] { circle.above(37); }), expected);
        EXPECT_EQ(validation::message_of<BugError>([&] { circle.below(37); }), expected);
    });
}

}  // namespace
}  // namespace trireme::layout
