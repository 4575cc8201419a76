#include <gtest/gtest.h>

#include <vector>

#include "trireme/base/message_text.hpp"

namespace trireme {
namespace {

TEST(EditDistance, CountsInsertionsDeletionsReplacementsAndSwaps) {
    EXPECT_EQ(edit_distance("batch", "batch"), 0U);
    EXPECT_EQ(edit_distance("batchs", "batch"), 1U);
    EXPECT_EQ(edit_distance("bach", "batch"), 1U);
    EXPECT_EQ(edit_distance("botch", "batch"), 1U);
    EXPECT_EQ(edit_distance("bacth", "batch"), 1U);
    EXPECT_EQ(edit_distance("", "seed"), 4U);
    EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
}

TEST(Nearest, FindsTheWordWithTheFewestSlips) {
    const std::vector<std::string> known{"batch", "beta1", "beta2", "steps", "validation-share"};

    EXPECT_EQ(nearest("batchs", known), "batch");
    EXPECT_EQ(nearest("beta", known), "beta1");
    EXPECT_EQ(nearest("STEP", known), "steps");
    EXPECT_EQ(nearest("val", known), "validation-share");
}

TEST(Nearest, SaysNothingWhereNoWordIsNear) {
    const std::vector<std::string> known{"batch", "steps"};

    EXPECT_EQ(nearest("xyzzy", known), std::nullopt);
    EXPECT_EQ(nearest("stop-it", known), std::nullopt);
    EXPECT_EQ(nearest("batch", std::vector<std::string>{}), std::nullopt);
}

TEST(DidYouMean, IsTheEndOfASentence) {
    const std::vector<std::string> known{"batch", "steps"};

    EXPECT_EQ(did_you_mean("batchs", known, "--"), "; did you mean --batch?");
    EXPECT_EQ(did_you_mean("xyzzy", known, "--"), "");
}

}  // namespace
}  // namespace trireme
