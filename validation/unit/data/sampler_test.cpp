#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "trireme/data/sample_index.hpp"

namespace trireme::data {
namespace {

// Parameters: number of samples, order.
class SamplerWithCount : public ::testing::TestWithParam<std::tuple<std::uint64_t, SampleOrder>> {};

TEST_P(SamplerWithCount, VisitsEverySampleOncePerEpoch) {
    const auto [count, order] = GetParam();
    const Sampler sampler(count, 3, order);

    for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
        std::set<std::uint64_t> seen;
        for (std::uint64_t i = 0; i < count; ++i) {
            const plan::SampleVisit visit = sampler.find_visit(epoch * count + i);
            EXPECT_EQ(visit.epoch, epoch);
            EXPECT_LT(visit.sample, count);
            seen.insert(visit.sample);
        }
        EXPECT_EQ(seen.size(), count);
    }
}

INSTANTIATE_TEST_SUITE_P(Counts, SamplerWithCount,
                         ::testing::Combine(::testing::Values(1, 2, 3, 4, 5, 16, 17, 255, 1000, 4097),
                                            ::testing::Values(SampleOrder::shuffled, SampleOrder::corpus)));

TEST(Sampler, VisitsSamplesInTheOrderOfTheCorpusAcrossTheEndOfAnEpoch) {
    const Sampler sampler(5, 3, SampleOrder::corpus);

    EXPECT_EQ(sampler.list_visits(3, 4), (std::vector<plan::SampleVisit>{{0, 3}, {0, 4}, {1, 0}, {1, 1}}));
}

// Homes have 4 or 3 of the 11 samples. Each step of 9 visits takes 3 samples from each home.
TEST(Sampler, VisitsTheSamplesOfEachHomeOncePerEpochOfTheHome) {
    for (const SampleOrder order : {SampleOrder::shuffled, SampleOrder::corpus}) {
        const Sampler sampler(11, 7, order, 3);
        const std::vector<std::uint32_t> homes = sampler.list_homes();
        std::map<std::pair<std::uint64_t, std::uint64_t>, std::multiset<std::uint64_t>> seen;  // by home, epoch
        for (std::uint64_t ordinal = 0; ordinal < 3 * 12; ++ordinal) {
            const plan::SampleVisit visit = sampler.find_visit(ordinal);
            EXPECT_EQ(sampler.find_home(ordinal), ordinal % 3);
            EXPECT_EQ(homes[visit.sample], ordinal % 3);
            seen[{ordinal % 3, visit.epoch}].insert(visit.sample);
        }
        for (std::uint64_t home = 0; home < 3; ++home) {
            const std::uint64_t count = home < 2 ? 4 : 3;
            for (std::uint64_t epoch = 0; epoch < 12 / count; ++epoch) {
                const auto& samples = seen[{home, epoch}];
                EXPECT_EQ(samples.size(), count);
                EXPECT_EQ(std::set<std::uint64_t>(samples.begin(), samples.end()).size(), count);
            }
        }
    }
}

TEST(Sampler, ShufflesTheSamplesOfAHomeDifferentlyForEachEpoch) {
    const Sampler sampler(64, 1, SampleOrder::shuffled, 2);
    std::vector<std::vector<std::uint64_t>> epochs(2);
    for (std::uint64_t v = 0; v < 128; v += 2) epochs[v / 64].push_back(sampler.find_visit(v).sample);
    EXPECT_NE(epochs[0], epochs[1]);
    EXPECT_TRUE(std::ranges::is_permutation(epochs[0], epochs[1]));
}

TEST(Sampler, ContinuesFromAnyOrdinal) {
    for (const SampleOrder order : {SampleOrder::shuffled, SampleOrder::corpus}) {
        const Sampler sampler(100, 7, order);

        const auto all = sampler.list_visits(0, 250);
        const auto rest = Sampler(100, 7, order).list_visits(130, 120);

        EXPECT_EQ(std::vector<plan::SampleVisit>(all.begin() + 130, all.end()), rest);
    }
}

TEST(Sampler, ShufflesDifferentlyForEachEpochAndSeed) {
    const Sampler sampler(64, 1);

    const auto order = [](const Sampler& s, std::uint64_t epoch) {
        std::vector<std::uint64_t> samples;
        for (const plan::SampleVisit& visit : s.list_visits(epoch * 64, 64)) samples.push_back(visit.sample);
        return samples;
    };

    EXPECT_NE(order(sampler, 0), order(sampler, 1));
    EXPECT_NE(order(sampler, 0), order(Sampler(64, 2), 0));
    EXPECT_FALSE(std::is_sorted(order(sampler, 0).begin(), order(sampler, 0).end()));
}

}  // namespace
}  // namespace trireme::data
