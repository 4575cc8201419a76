#include "setup/shared_memory_pool.hpp"

#include <gtest/gtest.h>

namespace trireme::setup {
namespace {

constexpr std::size_t megabyte = 1'000'000;

SharedMemoryPool node_with(std::size_t left) {
    return {.key = "n0 node", .ranks = "n0", .name = "the node", .more = "more nodes", .left = left * megabyte};
}

SharedMemoryPool group_with(std::size_t left, const std::string& group) {
    return {
        .key = group, .ranks = "n0", .name = "the group " + group, .more = "--mem", .left = left * megabyte};
}

// Two ranks of one node need 30 and 20 MB, each in its own group or both in one. A third rank is on another
// node.
std::vector<RankNeed> needs(const std::string& first, const std::string& second) {
    return {{.pool_keys = {"n0 node", first}, .bytes = 30 * megabyte},
            {.pool_keys = {"n0 node", second}, .bytes = 20 * megabyte},
            {.pool_keys = {"n1 node", "c"}, .bytes = 900 * megabyte}};
}

TEST(SharedMemoryPool, MustHoldTheSumOfWhatItsRanksNeed) {
    EXPECT_EQ(explain_lack({node_with(50)}, needs("a", "b")), "");
    EXPECT_EQ(explain_lack({node_with(49)}, needs("a", "b")),
              "the 2 ranks on n0 need 50 MB (the fullest rank 30 MB), but the node has only 49 MB left; use a "
              "smaller --batch or --max-length, more --microbatches, or more nodes");
}

// A smaller batch alone may not suffice if one rank needs more than there is.
TEST(SharedMemoryPool, SuggestsSplittingTheModelIfNoRankFits) {
    EXPECT_EQ(explain_lack({node_with(29)}, needs("a", "b")),
              "the 2 ranks on n0 need 50 MB (the fullest rank 30 MB), but the node has only 29 MB left; the "
              "fullest rank alone exceeds this: split the model among more ranks with --pipe or --tensor, or "
              "use a smaller --batch or --max-length, more --microbatches, or more nodes");
}

TEST(SharedMemoryPool, MayBeAControlGroupSharedByRanks) {
    EXPECT_EQ(explain_lack({node_with(100), group_with(50, "a")}, needs("a", "a")), "");
    EXPECT_EQ(
        explain_lack({node_with(100), group_with(49, "a")}, needs("a", "a")),
        "the 2 ranks on n0 need 50 MB (the fullest rank 30 MB), but the group a has only 49 MB left; use a "
        "smaller --batch or --max-length, more --microbatches, or --mem");
}

TEST(SharedMemoryPool, MayBeAControlGroupOfASingleRank) {
    EXPECT_EQ(explain_lack({node_with(100), group_with(30, "a")}, needs("a", "b")), "");
    EXPECT_NE(explain_lack({node_with(100), group_with(29, "a")}, needs("a", "b"))
                  .find("the rank on n0 needs 30 MB, but the group a has only 29"),
              std::string::npos);
}

}  // namespace
}  // namespace trireme::setup
