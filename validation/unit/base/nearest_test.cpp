#include <gtest/gtest.h>

#include <vector>

#include "trireme/base/message_text.hpp"

namespace trireme {
namespace {

TEST(EditDistance, CountsInsertionsDeletionsReplacementsAndSwaps) {
    EXPECT_EQ(compute_edit_distance("batch", "batch"), 0U);
    EXPECT_EQ(compute_edit_distance("batchs", "batch"), 1U);
    EXPECT_EQ(compute_edit_distance("bach", "batch"), 1U);
    EXPECT_EQ(compute_edit_distance("botch", "batch"), 1U);
    EXPECT_EQ(compute_edit_distance("bacth", "batch"), 1U);
    EXPECT_EQ(compute_edit_distance("", "seed"), 4U);
    EXPECT_EQ(compute_edit_distance("kitten", "sitting"), 3U);
}

TEST(NearestWord, IsFoundDespiteTyposCaseAndAMissingEnd) {
    const std::vector<std::string> known{"batch", "beta1", "beta2", "steps", "validation-share"};

    EXPECT_EQ(find_nearest_word("batchs", known), "batch");
    EXPECT_EQ(find_nearest_word("beta", known), "beta1");
    EXPECT_EQ(find_nearest_word("STEP", known), "steps");
    EXPECT_EQ(find_nearest_word("val", known), "validation-share");
}

TEST(NearestWord, IsEmptyIfNoWordIsSimilar) {
    const std::vector<std::string> known{"batch", "steps"};

    EXPECT_EQ(find_nearest_word("xyzzy", known), std::nullopt);
    EXPECT_EQ(find_nearest_word("stop-it", known), std::nullopt);
    EXPECT_EQ(find_nearest_word("batch", std::vector<std::string>{}), std::nullopt);
}

TEST(DidYouMean, SuggestsASimilarWordOrNothing) {
    const std::vector<std::string> known{"batch", "steps"};

    EXPECT_EQ(suggest_word("batchs", known, "--"), "; did you mean --batch?");
    EXPECT_EQ(suggest_word("xyzzy", known, "--"), "");
}

}  // namespace
}  // namespace trireme
