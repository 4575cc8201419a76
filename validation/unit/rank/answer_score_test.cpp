#include "rank/answer_score.hpp"

#include <gtest/gtest.h>

namespace trireme::rank {
namespace {

using Answers = std::vector<std::string>;

double exact(const std::string& predicted, const Answers& right) {
    return score_answer(predicted, right).exact;
}
double f1(const std::string& predicted, const Answers& right) { return score_answer(predicted, right).f1; }

TEST(NormalisedAnswer, IsInLowerCase) { EXPECT_EQ(normalize_answer("Denver Broncos"), "denver broncos"); }

// Punctuation is removed before words are split, so the words that it joins become one.
TEST(NormalisedAnswer, HasNoPunctuation) {
    EXPECT_EQ(normalize_answer("Levi's Stadium."), "levis stadium");
    EXPECT_EQ(normalize_answer("24-10"), "2410");
    EXPECT_EQ(normalize_answer("$1,234.50 (about)"), "123450 about");
    EXPECT_EQ(normalize_answer("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"), "");
}

TEST(NormalisedAnswer, HasNoArticlesButKeepsWordsThatBeginLikeThem) {
    EXPECT_EQ(normalize_answer("The Cat in a Hat on an Ant"), "cat in hat on ant");
    EXPECT_EQ(normalize_answer("theory another"), "theory another");
    EXPECT_EQ(normalize_answer("the"), "");
    EXPECT_EQ(normalize_answer("\"A\""), "");  // an article once its quotes are removed
}

TEST(NormalisedAnswer, HasSingleSpaces) {
    EXPECT_EQ(normalize_answer("  Santa \t Clara,\n California "), "santa clara california");
}

TEST(NormalisedAnswer, KeepsNonAsciiLetters) {
    EXPECT_EQ(normalize_answer("Beyonc\xC3\xA9 \xC3\x89"), "beyonc\xC3\xA9 \xC3\x89");
}

TEST(AnswerScore, IsOneForAnEqualAnswer) {
    EXPECT_EQ(exact("the Denver Broncos!", {"Denver Broncos"}), 1);
    EXPECT_EQ(f1("the Denver Broncos!", {"Denver Broncos"}), 1);
}

// Two of the three predicted words are right, and two of the four right words are found: 2 * 2 / (3 + 4).
TEST(AnswerScore, IsTheHarmonicMeanOfPrecisionAndRecall) {
    EXPECT_EQ(exact("santa clara valley", {"santa clara county california"}), 0);
    EXPECT_DOUBLE_EQ(f1("santa clara valley", {"santa clara county california"}), 4.0 / 7);
}

// The second "new" does not count: 2 * 2 / (3 + 2).
TEST(AnswerScore, CountsEachWordAsOftenAsBothAnswersContainIt) {
    EXPECT_DOUBLE_EQ(f1("new new york", {"new york"}), 4.0 / 5);
    EXPECT_DOUBLE_EQ(f1("york new", {"new york"}), 1);  // word order does not matter
    EXPECT_EQ(exact("york new", {"new york"}), 0);
}

TEST(AnswerScore, IsZeroIfNoWordIsShared) {
    EXPECT_EQ(exact("carolina", {"denver"}), 0);
    EXPECT_EQ(f1("carolina", {"denver"}), 0);
}

// The two right answers give 2 * 1 / (1 + 3) and 2 * 1 / (1 + 1).
TEST(AnswerScore, IsTheBestOverAllCorrectAnswers) {
    EXPECT_EQ(f1("broncos", {"denver broncos football"}), 0.5);
    EXPECT_EQ(f1("broncos", {"denver broncos football", "the Broncos"}), 1);
    EXPECT_EQ(exact("broncos", {"denver broncos football", "the Broncos"}), 1);
}

TEST(AnswerScore, IsOneForAnEmptyAnswerOnlyIfItIsCorrect) {
    EXPECT_EQ(f1("", {"denver"}), 0);
    EXPECT_EQ(exact("", {"denver"}), 0);
    EXPECT_EQ(f1("denver", {"the"}), 0);
    EXPECT_EQ(f1("a", {"the"}), 1);  // both are empty without articles
    EXPECT_EQ(exact("a", {"the"}), 1);
    EXPECT_EQ(f1("denver", {}), 0);
}

}  // namespace
}  // namespace trireme::rank
