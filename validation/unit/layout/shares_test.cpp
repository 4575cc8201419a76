#include "trireme/layout/shares.hpp"

#include <gtest/gtest.h>

#include "error_message.hpp"
#include "trireme/base/error.hpp"

namespace trireme::layout {
namespace {

using Counts = std::vector<std::size_t>;

Counts counts(const std::vector<Range>& ranges) {
    Counts all;
    for (const Range& range : ranges) all.push_back(range.count);
    return all;
}

Counts shares(std::size_t count, const Counts& weights) {
    return counts(cut_by_weights(count, weights, "heads"));
}

// True if the ranges follow each other from 0 to `count`.
bool are_gapless(const std::vector<Range>& ranges, std::size_t count) {
    std::size_t next = 0;
    for (const Range& range : ranges) {
        if (range.begin != next) return false;
        next = range.end();
    }
    return next == count;
}

TEST(CutByWeights, IsProportionalToTheWeights) {
    EXPECT_EQ(shares(16, {5, 2, 1}), (Counts{10, 4, 2}));
    EXPECT_EQ(shares(6, {7}), (Counts{6}));
}

TEST(CutByWeights, GivesRemainingUnitsToTheLeastPerWeightThenTheFirst) {
    EXPECT_EQ(shares(4, {1, 1, 1}), (Counts{2, 1, 1}));
    EXPECT_EQ(shares(12, {5, 2, 1}), (Counts{8, 3, 1}));  // exact: 7.5, 3, 1.5
    EXPECT_EQ(shares(7, {1, 2, 2}), (Counts{1, 3, 3}));   // exact: 1.4, 2.8, 2.8
    EXPECT_EQ(shares(6, {1, 3}), (Counts{1, 5}));         // exact: 1.5, 4.5; 5/3 < 2/1 per weight
}

TEST(CutByWeights, GivesEachRangeAtLeastOneUnit) {
    EXPECT_EQ(shares(3, {5, 2, 1}), (Counts{1, 1, 1}));
    EXPECT_EQ(shares(10, {100, 1, 1, 1}), (Counts{7, 1, 1, 1}));
    EXPECT_EQ(shares(20, {1, 60, 30, 1, 1, 1, 1, 1, 1, 1, 1, 1}), (Counts{1, 7, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1}));
}

TEST(CutByWeights, IsGaplessAndFairForAllSmallWeights) {
    for (std::size_t code = 0; code < 6 * 6 * 6; ++code) {
        const Counts weights{1 + code % 6, 1 + code / 6 % 6, 1 + code / 36};
        const std::size_t sum = weights[0] + weights[1] + weights[2];
        for (std::size_t count = 3; count <= 40; ++count) {
            const std::vector<Range> cut = cut_by_weights(count, weights, "heads");
            const bool is_without_rest = count % sum == 0;

            EXPECT_TRUE(are_gapless(cut, count));
            for (std::size_t i = 0; i < 3; ++i) {
                EXPECT_GE(cut[i].count, 1U);
                EXPECT_LT(cut[i].count * sum, count * weights[i] + 2 * sum);
                if (is_without_rest) {
                    EXPECT_EQ(cut[i].count, count * weights[i] / sum);
                }
            }
        }
    }
}

double max_units_per_weight(const Counts& units, const Counts& weights) {
    double most = 0;
    for (std::size_t i = 0; i < units.size(); ++i) {
        most = std::max(most, static_cast<double>(units[i]) / static_cast<double>(weights[i]));
    }
    return most;
}

TEST(CutByWeights, MinimizesTheMaximumNumberOfUnitsPerWeight) {
    for (std::size_t code = 0; code < 7 * 7 * 7; ++code) {
        const Counts weights{1 + code % 7, 1 + code / 7 % 7, 1 + code / 49};
        for (std::size_t count = 3; count <= 16; ++count) {
            double best = 1e9;
            for (std::size_t a = 1; a + 2 <= count; ++a) {
                for (std::size_t b = 1; a + b + 1 <= count; ++b) {
                    best = std::min(best, max_units_per_weight({a, b, count - a - b}, weights));
                }
            }
            EXPECT_EQ(max_units_per_weight(shares(count, weights), weights), best)
                << count << " over " << weights[0] << ' ' << weights[1] << ' ' << weights[2];
        }
    }
}

TEST(CutByWeights, RejectsFewerUnitsThanRanks) {
    const auto message = validation::catch_message<ConfigError>([] { shares(4, {1, 1, 1, 1, 1}); });

    EXPECT_EQ(
        message,
        "a replica of 5 ranks needs at least 5 heads, but the model has 4; use --tensor 4 or less, or replicas "
        "of at most 4 ranks");
}

TEST(CutByWeights, RejectsAWeightOfZero) {
    const auto message = validation::catch_message<ConfigError>([] { shares(8, {5, 0, 1}); });

    EXPECT_EQ(
        message,
        "heads cannot be divided by the shares 5,0,1; make every share at least 1, or remove the rank whose "
        "share is 0");
}

TEST(CutEvenly, PutsLongerRangesFirst) {
    EXPECT_EQ(counts(cut_evenly(10, 4)), (Counts{3, 3, 2, 2}));
    EXPECT_EQ(counts(cut_evenly(2, 3)), (Counts{1, 1, 0}));
    EXPECT_EQ(counts(cut_evenly(0, 2)), (Counts{0, 0}));
}

TEST(CutEvenly, IsGapless) {
    for (std::size_t count = 0; count <= 20; ++count) {
        for (std::size_t parts = 1; parts <= 8; ++parts)
            EXPECT_TRUE(are_gapless(cut_evenly(count, parts), count));
    }
}

}  // namespace
}  // namespace trireme::layout
