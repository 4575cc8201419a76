#include "trireme/layout/broadcast_tree.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "error_message.hpp"
#include "trireme/base/error.hpp"

namespace trireme::layout {
namespace {

// Returns a tree of ranks whose numbers have gaps. Its root, rank 17, is not the lowest of five or more.
BroadcastTree make_tree(int size, Spread spread) {
    BroadcastTree tree{.spread = spread};
    for (int place = 0; place < size; ++place) tree.ranks.push_back((5 * place + 17) % 37);
    return tree;
}

template <class Use>
void for_each_tree(Use&& use) {
    for (const Spread spread : {Spread::tree, Spread::direct}) {
        for (int size = 1; size <= 33; ++size) {
            SCOPED_TRACE(cat(size, spread == Spread::tree ? " in a tree" : " directly"));
            use(make_tree(size, spread));
        }
    }
}

// Simulates a broadcast in which each rank that has the message sends it to one rank per round. Returns the
// number of rounds; -1 if a rank never receives the message.
int simulated_rounds(const BroadcastTree& tree) {
    std::map<int, std::size_t> sent{{tree.ranks.front(), 0}};  // messages sent, per rank that has received
    int rounds = 0;
    for (; sent.size() < tree.ranks.size(); ++rounds) {
        const std::map<int, std::size_t> before = sent;
        for (const auto& [rank, count] : before) {
            const std::vector<int> below = tree.find_children(rank);
            if (count == below.size()) continue;
            ++sent.at(rank);
            sent.emplace(below[count], 0);
        }
        if (sent == before) return -1;  // a rank never receives it
    }
    return rounds;
}

int rounded_up_log2(std::size_t number) {
    int log = 0;
    while ((std::size_t{1} << log) < number) ++log;
    return log;
}

TEST(BroadcastTree, GivesEveryRankButTheRootAParent) {
    for_each_tree([](const BroadcastTree& tree) {
        EXPECT_FALSE(tree.find_parent(tree.ranks.front()));
        for (std::size_t place = 1; place < tree.ranks.size(); ++place)
            EXPECT_TRUE(tree.find_parent(tree.ranks[place])) << "rank " << tree.ranks[place];
    });
}

TEST(BroadcastTree, ListsTheRanksBelowEachRank) {
    for_each_tree([](const BroadcastTree& tree) {
        for (const int rank : tree.ranks) {
            std::set<int> expected;
            for (const int other : tree.ranks) {
                if (tree.find_parent(other) == rank) expected.insert(other);
            }

            const std::vector<int> below = tree.find_children(rank);
            EXPECT_EQ(std::set<int>(below.begin(), below.end()), expected) << "rank " << rank;
            EXPECT_EQ(below.size(), expected.size()) << "rank " << rank;
        }
    });
}

TEST(BroadcastTree, ReachesAllRanksInItsNumberOfRounds) {
    for_each_tree([](const BroadcastTree& tree) {
        const std::size_t size = tree.ranks.size();
        const bool is_tree = tree.spread == Spread::tree;

        EXPECT_EQ(tree.count_rounds(), is_tree ? rounded_up_log2(size) : static_cast<int>(size) - 1);
        EXPECT_EQ(simulated_rounds(tree), tree.count_rounds());
    });
}

// By hand: in the first round the root, rank 7, sends to a rank whose subtree has half of all ranks.
TEST(BroadcastTree, TakesTwoRoundsInATreeOfFourRanksAndThreeDirectly) {
    const BroadcastTree tree{.ranks = {7, 2, 9, 4}}, direct{.ranks = {7, 2, 9, 4}, .spread = Spread::direct};

    EXPECT_EQ(tree.find_children(7).size(), 2);
    EXPECT_EQ(tree.find_children(tree.find_children(7)[0]).size(), 1);
    EXPECT_TRUE(tree.find_children(tree.find_children(7)[1]).empty());
    EXPECT_EQ(tree.count_rounds(), 2);
    EXPECT_EQ(direct.find_children(7).size(), 3);
    EXPECT_EQ(direct.find_parent(4), 7);
    EXPECT_EQ(direct.count_rounds(), 3);
}

TEST(BroadcastTree, RejectsRanksThatAreNotMembers) {
    for_each_tree([](const BroadcastTree& tree) {
        const std::string expected =
            cat("rank 37 is not among the ", tree.ranks.size(), " ranks of a broadcast tree");
        EXPECT_EQ(validation::catch_message<BugError>([&] { tree.find_parent(37); }), expected);
        EXPECT_EQ(validation::catch_message<BugError>([&] { tree.find_children(37); }), expected);
    });
}

}  // namespace
}  // namespace trireme::layout
