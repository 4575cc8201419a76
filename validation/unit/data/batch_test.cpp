#include "trireme/data/batch.hpp"

#include <gtest/gtest.h>

#include <set>

#include "trireme/base/error.hpp"
#include "unit/data/small_corpus.hpp"

namespace trireme::data {
namespace {

using validation::end_of_bytes;
using validation::ScratchFolder;
using validation::small_corpus;

using Ints = std::vector<std::int32_t>;

constexpr auto end = static_cast<std::int32_t>(end_of_bytes);

// Three rows of 4, 2 and 3 tokens. With the end token, the numbers of predictions and tokens are equal.
class ThreeRows : public ::testing::Test {
protected:
    static std::vector<Sample> full_rows() { return {{0, 0, 4}, {1, 0, 2}, {2, 0, 3}}; }

    Batch built(const std::vector<Sample>& samples, std::vector<plan::SampleVisit> visits,
                plan::LengthPolicy policy, std::size_t longest = 4) const {
        return build_batch(corpus_, samples, {}, make_microbatch(std::move(visits), samples, policy, longest));
    }

    std::size_t counted(const std::vector<Sample>& samples,
                        const std::vector<plan::SampleVisit>& visits) const {
        return count_targets(corpus_, samples, {}, visits);
    }

private:
    ScratchFolder folder_;
    Corpus corpus_ = small_corpus(folder_, {{11, 12, 13, 14}, {21, 22}, {31, 32, 33}});
};

const std::vector<plan::SampleVisit> second_and_third{{.epoch = 0, .sample = 1}, {.epoch = 0, .sample = 2}};

void expect_spans(const Batch& batch, const std::vector<std::pair<std::size_t, std::size_t>>& expected) {
    ASSERT_EQ(batch.spans.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const TokenSpan& span = batch.spans[i];
        EXPECT_EQ(span.begin, expected[i].first);
        EXPECT_EQ(span.length, expected[i].second);
        for (std::size_t row = 0; row < span.length; ++row) {
            EXPECT_EQ(batch.positions[span.begin + row], static_cast<std::int32_t>(row));
            EXPECT_EQ(batch.visits[span.begin + row], span.visit);
        }
    }
}

TEST_F(ThreeRows, FollowEachOtherWithoutPaddingIfPacked) {
    const Batch batch = built(full_rows(), second_and_third, plan::LengthPolicy::pack);

    EXPECT_EQ(batch.tokens, (Ints{21, 22, 31, 32, 33}));
    EXPECT_EQ(batch.targets, (Ints{22, end, 32, 33, end}));
    EXPECT_EQ(batch.target_count, 5U);
    expect_spans(batch, {{0, 2}, {2, 3}});
}

TEST_F(ThreeRows, ArePaddedToTheLongestSampleOfTheMicrobatch) {
    const Batch batch = built(full_rows(), second_and_third, plan::LengthPolicy::pad);

    EXPECT_EQ(batch.tokens, (Ints{21, 22, 0, 31, 32, 33}));
    EXPECT_EQ(batch.targets, (Ints{22, end, -1, 32, 33, end}));
    EXPECT_EQ(batch.target_count, 5U);
    expect_spans(batch, {{0, 2}, {3, 3}});
}

TEST_F(ThreeRows, ListTheBatchRowsThatHaveATarget) {
    EXPECT_EQ(built(full_rows(), second_and_third, plan::LengthPolicy::pad).predicted_rows,
              (Ints{0, 1, 3, 4, 5}));
    EXPECT_EQ(built(full_rows(), second_and_third, plan::LengthPolicy::pack).predicted_rows,
              (Ints{0, 1, 2, 3, 4}));
}

TEST_F(ThreeRows, ArePaddedToTheLongestSampleOfTheRunIfFixed) {
    const Batch batch = built(full_rows(), second_and_third, plan::LengthPolicy::fixed, 5);

    EXPECT_EQ(batch.tokens, (Ints{21, 22, 0, 0, 0, 31, 32, 33, 0, 0}));
    EXPECT_EQ(batch.targets, (Ints{22, end, -1, -1, -1, 32, 33, end, -1, -1}));
    EXPECT_EQ(batch.target_count, 5U);
    expect_spans(batch, {{0, 2}, {5, 3}});
}

TEST_F(ThreeRows, KeepTheOrderOfTheVisits) {
    const Batch batch =
        built(full_rows(), {{.epoch = 1, .sample = 2}, {.epoch = 1, .sample = 0}}, plan::LengthPolicy::pack);

    EXPECT_EQ(batch.tokens, (Ints{31, 32, 33, 11, 12, 13, 14}));
}

TEST_F(ThreeRows, PredictTheFirstTokenOfTheNextPieceIfSplit) {
    const std::vector<Sample> pieces{{0, 0, 2}, {0, 2, 2}};

    const Batch batch =
        built(pieces, {{.epoch = 0, .sample = 0}, {.epoch = 0, .sample = 1}}, plan::LengthPolicy::pack);

    EXPECT_EQ(batch.tokens, (Ints{11, 12, 13, 14}));
    EXPECT_EQ(batch.targets, (Ints{12, 13, 14, end}));
    expect_spans(batch, {{0, 2}, {2, 2}});
    EXPECT_NE(batch.spans[0].visit, batch.spans[1].visit);
}

TEST_F(ThreeRows, PredictTheirLastTokenIfThereIsNoEndToken) {
    const std::vector<Sample> samples{{0, 0, 3}, {1, 0, 1}, {2, 0, 2}};

    const Batch batch = built(samples, second_and_third, plan::LengthPolicy::pad);

    EXPECT_EQ(batch.tokens, (Ints{21, 0, 31, 32}));
    EXPECT_EQ(batch.targets, (Ints{22, -1, 32, 33}));
    EXPECT_EQ(batch.target_count, 3U);
}

TEST_F(ThreeRows, HaveOneEntryOfEachFieldPerBatchRow) {
    for (const plan::LengthPolicy policy : {plan::LengthPolicy::fixed, plan::LengthPolicy::pad,
                                            plan::LengthPolicy::step, plan::LengthPolicy::pack}) {
        const Batch batch = built(full_rows(), second_and_third, policy);

        EXPECT_EQ(batch.targets.size(), batch.rows());
        EXPECT_EQ(batch.positions.size(), batch.rows());
        EXPECT_EQ(batch.types, Ints(batch.rows(), 0));
        EXPECT_EQ(batch.visits.size(), batch.rows());
        for (const std::int32_t position : batch.positions) {  // padding also looks up a position
            EXPECT_GE(position, 0);
            EXPECT_LT(position, 4);
        }
    }
}

TEST_F(ThreeRows, HaveADistinctVisitIdInEachEpoch) {
    std::vector<plan::SampleVisit> visits;
    for (std::uint64_t epoch = 0; epoch < 50; ++epoch)
        for (std::uint64_t sample = 0; sample < 3; ++sample) visits.push_back({epoch, sample});

    const Batch batch = built(full_rows(), visits, plan::LengthPolicy::pack);

    std::set<std::int64_t> seen;
    for (const TokenSpan& span : batch.spans) seen.insert(span.visit);
    EXPECT_EQ(seen.size(), visits.size());
}

// Dropout is keyed by the visit, so the visit must not depend on neighbouring samples or on padding.
TEST_F(ThreeRows, HaveTheSameVisitIdInEveryMicrobatchAndLengthPolicy) {
    const plan::SampleVisit visit{.epoch = 7, .sample = 2};
    const std::int64_t in_single_batch = built(full_rows(), {visit}, plan::LengthPolicy::pack).spans[0].visit;

    for (const plan::LengthPolicy policy : {plan::LengthPolicy::fixed, plan::LengthPolicy::pad,
                                            plan::LengthPolicy::step, plan::LengthPolicy::pack})
        EXPECT_EQ(built(full_rows(), {{7, 0}, visit}, policy).spans[1].visit, in_single_batch);
}

TEST_F(ThreeRows, GiveNoBatchRowsToAMicrobatchWithoutSamples) {
    for (const plan::LengthPolicy policy : {plan::LengthPolicy::fixed, plan::LengthPolicy::pad,
                                            plan::LengthPolicy::step, plan::LengthPolicy::pack}) {
        const Batch batch = built(full_rows(), {}, policy);

        EXPECT_EQ(batch.rows(), 0U);
        EXPECT_EQ(batch.target_count, 0U);
        EXPECT_TRUE(batch.spans.empty());
    }
}

TEST_F(ThreeRows, RejectASampleThatReachesBeyondItsRow) {
    const std::vector<Sample> beyond{{1, 0, 3}};  // two tokens and the end token give two predictions
    const std::vector<plan::SampleVisit> visit{{.epoch = 0, .sample = 0}};

    EXPECT_THROW(built(beyond, visit, plan::LengthPolicy::pack), BugError);
}

TEST(Microbatch, HasThePaddedLengthOfItsPolicy) {
    const std::vector<Sample> samples{{0, 0, 4}, {1, 0, 2}, {2, 0, 3}};

    EXPECT_EQ(make_microbatch(second_and_third, samples, plan::LengthPolicy::fixed, 9).padded_length, 9U);
    EXPECT_EQ(make_microbatch(second_and_third, samples, plan::LengthPolicy::pad, 9).padded_length, 3U);
    EXPECT_EQ(make_microbatch(second_and_third, samples, plan::LengthPolicy::pack, 9).padded_length, 0U);
    EXPECT_EQ(make_microbatch(second_and_third, samples, plan::LengthPolicy::pad, 9).samples, second_and_third);
}

TEST(Microbatch, IsPaddedToTheLongestSampleOfItsStep) {
    const std::vector<Sample> samples{{0, 0, 4}, {1, 0, 2}, {2, 0, 3}, {3, 0, 9}};
    const std::vector<plan::SampleVisit> step_visits{{0, 0}, {0, 1}, {0, 2}};
    const auto find_length = [&](plan::LengthPolicy policy) {
        return find_common_length(step_visits, samples, policy, 9);
    };

    EXPECT_EQ(find_length(plan::LengthPolicy::step), 4U);
    EXPECT_EQ(find_length(plan::LengthPolicy::fixed), 9U);
    EXPECT_EQ(make_microbatch(second_and_third, samples, plan::LengthPolicy::step, 4).padded_length, 4U);
}

TEST_F(ThreeRows, CountTheirTargetsWithoutBuildingABatch) {
    const std::vector<plan::SampleVisit> visits{{0, 0}, {0, 2}, {1, 0}};

    EXPECT_EQ(counted(full_rows(), visits), 4U + 3U + 4U);
    EXPECT_EQ(counted(full_rows(), {}), 0U);
}

}  // namespace
}  // namespace trireme::data
