#include <gtest/gtest.h>

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
