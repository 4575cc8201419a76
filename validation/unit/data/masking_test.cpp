#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "data/targets.hpp"
#include "trireme/base/error.hpp"

namespace trireme::data {
namespace {

constexpr RandomKey key{2019};
constexpr std::uint32_t mask = 7;

// Returns facts about twenty tokens, of which 0, 7, 8 and 19 are special.
CorpusInfo twenty_tokens() {
    CorpusInfo info;
    info.vocabulary_size = 20;
    info.special_tokens = {.end_of_text = 0, .classify = 8, .separator = 19, .mask = mask};
    return info;
}

double count_of(const std::vector<std::size_t>& places) { return static_cast<double>(places.size()); }

TEST(Masking, HidesTheRequestedShare) {
    constexpr double tokens = 100'000;
    for (const double share : {0.15, 0.4, 1.0}) {
        const Masking masking(twenty_tokens(), key, share);

        const double deviation = std::sqrt(tokens * share * (1 - share));  // of a binomial count
        EXPECT_NEAR(count_of(masking.select_positions(3, 100'000)), tokens * share, 5 * deviation);
    }
}

TEST(Masking, HidesOnlyPlacesOfTheTextInAscendingOrder) {
    const Masking masking(twenty_tokens(), key, 0.5);

    for (std::int64_t visit = 0; visit < 200; ++visit) {
        const std::vector<std::size_t> places = masking.select_positions(visit, 9);

        ASSERT_FALSE(places.empty());
        EXPECT_GE(places.front(), 1U);
        EXPECT_LE(places.back(), 9U);
        EXPECT_EQ(std::adjacent_find(places.begin(), places.end(), std::greater_equal<>()), places.end());
    }
}

// Every visit must hide at least one place, even with a share of 0.
TEST(Masking, HidesAtLeastOnePlaceChosenUniformly) {
    const Masking masking(twenty_tokens(), key, 0);
    std::vector<int> times(6);

    for (std::int64_t visit = 0; visit < 5'000; ++visit) {
        const std::vector<std::size_t> places = masking.select_positions(visit, 5);
        ASSERT_EQ(places.size(), 1U);
        ++times[places[0]];
    }

    for (std::size_t place = 1; place <= 5; ++place) EXPECT_NEAR(times[place], 1'000, 5 * std::sqrt(800));
    EXPECT_EQ(masking.select_positions(0, 1), std::vector<std::size_t>{1});
    EXPECT_TRUE(masking.select_positions(0, 0).empty());
}

TEST(Masking, ReplacesEightyPercentByTheMaskAndTenByRandomTokens) {
    const Masking masking(twenty_tokens(), key, 0.15);
    constexpr double trials = 50'000;
    constexpr std::uint32_t own = 5;
    std::vector<double> shown(20);

    for (std::size_t place = 1; place <= 50'000; ++place) ++shown[masking.choose_replacement(11, place, own)];

    EXPECT_NEAR(shown[mask], 0.8 * trials, 5 * std::sqrt(trials * 0.16));
    for (std::uint32_t token = 0; token < 20; ++token) {
        if (token == mask) continue;
        const bool is_special = token == 0 || token == 8 || token == 19;
        const double share = (is_special ? 0 : 0.1 / 16) + (token == own ? 0.1 : 0);
        EXPECT_NEAR(shown[token], trials * share, 5 * std::sqrt(trials * share * (1 - share))) << token;
    }
}

TEST(Masking, DependsOnlyOnKeyVisitAndPlace) {
    const Masking masking(twenty_tokens(), key, 0.3);
    const Masking again(twenty_tokens(), key, 0.3);
    const Masking other_key(twenty_tokens(), RandomKey{2020}, 0.3);

    const std::vector<std::size_t> places = masking.select_positions(4, 400);
    std::vector<std::size_t> of_fewer = places;
    std::erase_if(of_fewer, [](std::size_t place) { return place > 100; });

    EXPECT_EQ(again.select_positions(4, 400), places);
    EXPECT_EQ(masking.select_positions(4, 100), of_fewer);
    EXPECT_NE(masking.select_positions(5, 400), places);
    EXPECT_NE(other_key.select_positions(4, 400), places);
}

TEST(Masking, RejectsAVocabularyOfOnlySpecialTokens) {
    CorpusInfo only_special = twenty_tokens();
    only_special.vocabulary_size = 4;

    EXPECT_THROW(Masking(only_special, key, 0.15), ConfigError);
}

}  // namespace
}  // namespace trireme::data
