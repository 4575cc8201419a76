#include "trireme/model/channel_choice.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "error_message.hpp"
#include "trireme/base/error.hpp"

namespace trireme::model {
namespace {

using List = std::vector<std::int32_t>;
using Scores = std::vector<double>;
using Counts = std::vector<std::size_t>;

List chosen(ChannelPolicy policy, const Scores& variation, std::size_t count, RandomKey key = {}) {
    return choose_channels(policy, variation, count, key);
}

List all_of(std::size_t channels) {
    List list(channels);
    std::iota(list.begin(), list.end(), 0);
    return list;
}

TEST(KeptCount, RoundsSkippedChannelsToTilesAndKeepsATile) {
    EXPECT_EQ(count_kept_channels(64, 0), 64);
    EXPECT_EQ(count_kept_channels(64, 0.5), 32);
    EXPECT_EQ(count_kept_channels(64, 0.06), 64);  // 3.84 channels are nearer to 0 than to 8
    EXPECT_EQ(count_kept_channels(64, 0.07), 56);
    EXPECT_EQ(count_kept_channels(64, 0.99), 8);
    EXPECT_EQ(count_kept_channels(20, 0.5), 12);
    EXPECT_EQ(count_kept_channels(20, 0.9), 12);  // the last 4 channels are not a whole tile
    EXPECT_EQ(count_kept_channels(8, 0.9), 8);
    EXPECT_EQ(count_kept_channels(5, 0.9), 5);
}

TEST(ChannelChoice, TakesTheLargestVariationThenLowestIndexForPriority) {
    EXPECT_EQ(chosen(ChannelPolicy::priority, {1, 4, 2, 4, 3}, 3), (List{1, 3, 4}));
    EXPECT_EQ(chosen(ChannelPolicy::priority, {1, 1, 1, 1}, 2), (List{0, 1}));
    EXPECT_EQ(chosen(ChannelPolicy::priority, {1, 2, 1, 2, 1}, 4), (List{0, 1, 2, 3}));
}

TEST(ChannelChoice, TakesTheWindowWithTheLargestVariation) {
    EXPECT_EQ(chosen(ChannelPolicy::window, {9, 0, 0, 4, 4, 4, 0}, 3), (List{3, 4, 5}));
    EXPECT_EQ(chosen(ChannelPolicy::window, {9, 0, 0, 4, 4, 4, 0}, 1), (List{0}));
    EXPECT_EQ(chosen(ChannelPolicy::window, {1, 2, 1, 2, 1}, 2), (List{0, 1}));
    EXPECT_EQ(chosen(ChannelPolicy::window, {1, 2, 3}, 3), (List{0, 1, 2}));
}

TEST(ChannelChoice, IsASubsetDeterminedByTheKeyAloneIfRandom) {
    const Scores any(64, 1.0), other(64, 2.0);
    const RandomKey key = RandomKey{7}.then("weight").then(1);
    const List list = chosen(ChannelPolicy::random, any, 24, key);

    EXPECT_EQ(list.size(), 24);
    EXPECT_TRUE(std::ranges::is_sorted(list));
    EXPECT_EQ(std::ranges::adjacent_find(list), list.end());
    EXPECT_EQ(chosen(ChannelPolicy::random, other, 24, key), list);
    EXPECT_NE(chosen(ChannelPolicy::random, any, 24, RandomKey{7}.then("weight").then(2)), list);
    EXPECT_NE(chosen(ChannelPolicy::random, any, 24, RandomKey{7}.then("other").then(1)), list);
    EXPECT_NE(chosen(ChannelPolicy::random, any, 24, RandomKey{8}.then("weight").then(1)), list);
}

// Each channel is expected in 50 of 200 draws of 16 of 64 channels, with a standard deviation of 6.1.
TEST(ChannelChoice, TakesEachChannelEquallyOftenIfRandom) {
    std::vector<int> times(64, 0);
    for (std::uint64_t period = 0; period < 200; ++period) {
        for (const std::int32_t c : chosen(ChannelPolicy::random, Scores(64), 16, RandomKey{3}.then(period)))
            ++times[static_cast<std::size_t>(c)];
    }
    EXPECT_GT(std::ranges::min(times), 50 - 5 * 6);
    EXPECT_LT(std::ranges::max(times), 50 + 5 * 6);
}

TEST(ChannelChoice, ReturnsAllChannelsIfAllAreRequested) {
    for (const auto policy : {ChannelPolicy::priority, ChannelPolicy::random, ChannelPolicy::window})
        EXPECT_EQ(chosen(policy, {3, 1, 2}, 3), all_of(3));
}

TEST(ChannelChoice, RejectsMoreChannelsThanExist) {
    EXPECT_EQ(validation::catch_message<BugError>([] {
                  chosen(ChannelPolicy::random, {1, 2}, 3);
              }),
              "cannot choose 3 of 2 channels");
}

// Three periods with four channels; two are kept from the second period on. Computed by hand:
//   change 5 1 4 2   all were kept       scores 5 1 4 2        kept 0 2
//   change 1 9 3 9   0 and 2 were kept   scores 1 1 3 2        kept 2 3: channel 3, with score 2, comes back
//   change 9 9 0 1   2 and 3 were kept   scores 1 1 0 1        kept 0 1
TEST(ChannelChoice, BringsSkippedChannelsBackForPriority) {
    Scores variation(4, 1.0);
    List kept = all_of(4);
    const auto end_period = [&](const Scores& change) {
        update_variation(kept, change, variation);
        return kept = chosen(ChannelPolicy::priority, variation, 2);
    };

    EXPECT_EQ(end_period({5, 1, 4, 2}), (List{0, 2}));
    EXPECT_EQ(end_period({1, 9, 3, 9}), (List{2, 3}));
    EXPECT_EQ(variation, (Scores{1, 1, 3, 2}));
    EXPECT_EQ(end_period({9, 9, 0, 1}), (List{0, 1}));
    EXPECT_EQ(variation, (Scores{1, 1, 0, 1}));
}

// The second projection varies half as much as the third, so the skipped fractions are 1 : 1/2 : 0. A quarter
// of all work (3 x 64) is 48: the first skips 2/3 of it and the second 1/3.
TEST(KeptCounts, SkipLessOfProjectionsThatVaryMore) {
    const std::vector<ResizableWork> all{{64, 64, 0}, {64, 64, 1}, {64, 64, 2}};

    EXPECT_EQ(plan_kept_channels(all, 0.25, 0.75), (Counts{64 - 32, 64 - 16, 64}));
}

// No projection skips more than the limit. The second skips what the first may not, and then the third.
TEST(KeptCounts, SkipMoreElsewhereIfTheLimitCapsAProjection) {
    const std::vector<ResizableWork> all{{64, 64, 0}, {64, 64, 1}, {64, 64, 2}};

    EXPECT_EQ(plan_kept_channels(all, 0.25, 0.375), (Counts{64 - 24, 64 - 24, 64}));
    EXPECT_EQ(plan_kept_channels(all, 0.4375, 0.5), (Counts{32, 32, 64 - 24}));
    EXPECT_EQ(plan_kept_channels(all, 0.9, 0.5), (Counts{32, 32, 32}));
}

TEST(KeptCounts, AreEqualIfAllProjectionsVaryEqually) {
    for (const double variation : {0.0, 3.0}) {
        const std::vector<ResizableWork> all{{64, 5, variation}, {64, 1, variation}};
        EXPECT_EQ(plan_kept_channels(all, 0.5, 0.75), (Counts{32, 32}));
        EXPECT_EQ(plan_kept_channels(all, 0, 0.75), (Counts{64, 64}));
    }
}

TEST(KeptCounts, KeepATileOfEachAndAllChannelsOfNarrowProjections) {
    const std::vector<ResizableWork> all{{5, 5, 0}, {8, 8, 0}, {24, 24, 0}};

    EXPECT_EQ(plan_kept_channels(all, 0.95, 0.99), (Counts{5, 8, 8}));
}

// Projections differ in size and variation. The skipped work is right to within a tile.
TEST(KeptCounts, SkipTheRequestedWorkToWithinATile) {
    for (std::uint64_t trial = 0; trial < 200; ++trial) {
        const RandomKey key = RandomKey{1}.then(trial);
        std::vector<ResizableWork> all;
        double total = 0, largest_tile = 0;
        for (std::uint64_t i = 0; i < 12; ++i) {
            const RandomBlock block = random_block(key, i);
            const std::size_t channels = 16 + block[0] % 300;
            all.push_back({.channels = channels,
                           .work = static_cast<double>(channels * (1 + block[1] % 9)),
                           .variation = to_unit_interval(block[2])});
            total += all.back().work;
            largest_tile = std::max(largest_tile, 8 * all.back().work / static_cast<double>(channels));
        }
        for (const double ratio : {0.05, 0.2, 0.35}) {
            const Counts kept = plan_kept_channels(all, ratio, 0.7);

            double skipped = 0;
            for (std::size_t i = 0; i < all.size(); ++i) {
                const std::size_t cut = all[i].channels - kept[i];
                skipped += all[i].work * static_cast<double>(cut) / static_cast<double>(all[i].channels);
                EXPECT_EQ(cut % channel_tile, 0);
                EXPECT_LE(static_cast<double>(cut), 0.7 * static_cast<double>(all[i].channels));
            }
            EXPECT_NEAR(skipped, ratio * total, largest_tile) << "trial " << trial << ", ratio " << ratio;
        }
    }
}

TEST(OffloadedCounts, AreTheNearestWholeTiles) {
    const auto counts = [](std::size_t channels, const Scores& parts) {
        return count_offloaded_channels(channels, parts);
    };

    EXPECT_EQ(counts(64, {0.25, 0.5}), (Counts{16, 32}));
    EXPECT_EQ(counts(64, {0.5, 0, 0.125}), (Counts{32, 0, 8}));
    EXPECT_EQ(counts(64, {0.06}), (Counts{0}));  // 3.84 channels are nearer to 0 than to 8
    EXPECT_EQ(counts(64, {0.07}), (Counts{8}));
    EXPECT_EQ(counts(64, {}), Counts{});
    EXPECT_EQ(counts(64, {0, 0}), (Counts{0, 0}));
}

// Each fraction alone would round to zero; together they are 1.6 tiles.
TEST(OffloadedCounts, RoundTheSumInsteadOfEachPart) {
    const Counts counts = count_offloaded_channels(64, Scores(4, 0.05));

    EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), std::size_t{0}), 16);
    EXPECT_EQ(std::ranges::max(counts), 8);
}

TEST(OffloadedCounts, LeaveAtLeastOneTileToTheOwner) {
    const auto offloaded = [](std::size_t channels, const Scores& parts) {
        const Counts counts = count_offloaded_channels(channels, parts);
        return std::accumulate(counts.begin(), counts.end(), std::size_t{0});
    };

    EXPECT_EQ(offloaded(64, {1}), 56);
    EXPECT_EQ(offloaded(64, {0.5, 0.5}), 56);
    EXPECT_EQ(offloaded(20, {0.9}), 8);  // the last 4 channels are not a whole tile, and 12 are left
    EXPECT_EQ(offloaded(16, {0.5, 0.4}), 8);
    for (std::size_t narrow = 1; narrow < 16; ++narrow) EXPECT_EQ(offloaded(narrow, {0.5, 0.49}), 0) << narrow;
}

// Random fractions of a rank's channels for up to seven helpers; some fractions are zero.
TEST(OffloadedCounts, AreNearestToTheRequestForRandomParts) {
    for (std::uint64_t trial = 0; trial < 2000; ++trial) {
        SCOPED_TRACE(cat("trial ", trial));
        const RandomKey key = RandomKey{5}.then(trial);
        const RandomBlock block = random_block(key, 0);
        const std::size_t channels = 1 + block[0] % 400;
        Scores parts(block[1] % 8);
        for (std::size_t i = 0; i < parts.size(); ++i) {
            const RandomBlock drawn = random_block(key, i + 1);
            parts[i] = drawn[1] % 4 == 0 ? 0 : to_unit_interval(drawn[0]) / static_cast<double>(parts.size());
        }
        const Counts counts = count_offloaded_channels(channels, parts);

        ASSERT_EQ(counts.size(), parts.size());
        std::size_t offloaded = 0;
        double wanted = 0;
        for (std::size_t i = 0; i < parts.size(); ++i) {
            offloaded += counts[i];
            wanted += parts[i] * static_cast<double>(channels);
            EXPECT_EQ(counts[i] % channel_tile, 0);
            EXPECT_LT(static_cast<double>(counts[i]),
                      parts[i] == 0 ? 1 : parts[i] * static_cast<double>(channels) + channel_tile);
        }
        const std::size_t most = channels < channel_tile ? 0 : (channels / channel_tile - 1) * channel_tile;
        const double nearest = std::min(wanted, static_cast<double>(most));
        EXPECT_LE(offloaded, most);
        EXPECT_NEAR(static_cast<double>(offloaded), nearest, channel_tile / 2.0);
    }
}

}  // namespace
}  // namespace trireme::model
