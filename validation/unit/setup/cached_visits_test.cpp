#include "trireme/setup/cached_visits.hpp"

#include <gtest/gtest.h>

#include <set>

#include "trireme/data/sample_index.hpp"
#include "trireme/setup/step_samples.hpp"

namespace trireme::setup {
namespace {

constexpr std::size_t samples = 20;

// Returns the mean, over many random orders, of the part of the samples of a step that were visited in the
// visits from `begin` to `end` - 1.
double count_visited(std::size_t begin, std::size_t end, std::size_t first_visit, std::size_t batch) {
    constexpr std::size_t orders = 400;
    std::size_t visited = 0;
    for (std::size_t seed = 0; seed < orders; ++seed) {
        const data::Sampler sampler(samples, seed);
        std::set<std::uint64_t> seen;
        for (std::size_t visit = begin; visit < end; ++visit) seen.insert(sampler.find_visit(visit).sample);
        for (const plan::SampleVisit& visit : sampler.list_visits(first_visit, batch))
            visited += seen.contains(visit.sample) ? 1 : 0;
    }
    return static_cast<double>(visited) / static_cast<double>(orders * batch);
}

TEST(CachedVisits, AreTheMeanOverRandomOrders) {
    for (const std::size_t begin : {0, 7, 20, 33}) {
        for (const std::size_t end : {7, 20, 33, 40, 55, 60}) {
            for (const std::size_t visit : {21, 41, 47, 79}) {
                if (begin > end || end > visit) continue;
                EXPECT_NEAR(predict_visited_share(begin, end, visit, samples),
                            count_visited(begin, end, visit, 1), 0.1)
                    << begin << " to " << end << ", visit " << visit;
            }
        }
    }
}

// A block freezes after 30 visits, the middle of the second epoch, and two more after 60 visits.
TEST(CachedVisits, FollowTheFrozenBlocks) {
    StepSamples steps{.batch = 10, .first_batch = 10, .all = 200};
    steps.cached = steps.cached.change_depth(30, 0, 1);
    const auto predict = [&](std::size_t step) { return predict_cached_shares(steps, step, samples, 1); };
    EXPECT_EQ(predict(3), (CachedShares{.placed = 1}));
    EXPECT_EQ(predict(4).at_depth, 0.5);  // half of the samples had a visit in the second epoch
    EXPECT_EQ(predict(6).at_depth, 1);

    steps.cached = steps.cached.change_depth(60, 1, 3);
    EXPECT_EQ(predict(6), (CachedShares{.placed = 1, .at_earlier_depth = 1, .earlier_depth = 1}));
    EXPECT_EQ(predict(7), predict(6));
    EXPECT_EQ(predict(8).at_depth, 1);
    EXPECT_EQ(predict(8).at_earlier_depth, 0);

    steps.cached = steps.cached.change_depth(90, 3, 2);  // a block thaws
    EXPECT_EQ(predict(9), (CachedShares{.placed = 1}));
    EXPECT_EQ(predict(11).at_depth, 0.5);
}

// The cache of a resumed run is empty, although its blocks froze before.
TEST(CachedVisits, BeginWithTheRun) {
    StepSamples steps{.batch = 10, .first_batch = 10, .all = 200};
    steps.cached = {.begin = 80, .depth_begin = 80};
    steps.cached = steps.cached.change_depth(40, 0, 2);
    EXPECT_EQ(predict_cached_shares(steps, 9, samples, 0.5), (CachedShares{.placed = 0.5}));
    EXPECT_EQ(predict_cached_shares(steps, 10, samples, 0.5).at_depth, 0.5);
    EXPECT_EQ(predict_cached_shares(steps, 10, samples, 0), CachedShares{});
}

}  // namespace
}  // namespace trireme::setup
