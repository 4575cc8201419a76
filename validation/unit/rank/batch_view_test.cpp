#include "trireme/rank/batch_view.hpp"

#include <gtest/gtest.h>

namespace trireme::rank {
namespace {

using Numbers = std::vector<std::int32_t>;

// Returns two samples of three and two tokens, padded to three.
data::Batch padded_batch() {
    data::Batch batch;
    batch.tokens = {7, 8, 9, 4, 5, 0};
    batch.targets = {8, 9, 1, 5, 1, -1};
    batch.predicted_rows = {0, 1, 2, 3, 4};
    batch.positions = {0, 1, 2, 0, 1, 0};
    batch.types = {0, 0, 1, 0, 1, 0};
    batch.visits = {11, 11, 11, 12, 12, 0};
    batch.spans = {{.begin = 0, .length = 3, .visit = 11}, {.begin = 3, .length = 2, .visit = 12}};
    batch.target_count = 5;
    return batch;
}

Numbers numbers_in(device::ConstTensor tensor) {
    Numbers all;
    for (std::size_t r = 0; r < tensor.rows; ++r) {
        const std::int32_t* row = tensor.as<std::int32_t>().row(r);
        all.insert(all.end(), row, row + tensor.columns);
    }
    return all;
}

TEST(BatchView, ShowsEveryRow) {
    const data::Batch batch = padded_batch();

    const BatchView view(batch);

    EXPECT_EQ(view.tokens().rows(), 6U);
    EXPECT_EQ(numbers_in(view.tokens().tokens), batch.tokens);
    EXPECT_EQ(numbers_in(view.tokens().positions), batch.positions);
    EXPECT_EQ(numbers_in(view.tokens().types), batch.types);
    EXPECT_EQ(view.tokens().visits.as<std::int64_t>().row(0)[3], 12);
}

TEST(BatchView, HasASegmentWithTheVisitOfEachSample) {
    const data::Batch batch = padded_batch();

    const BatchView view(batch);

    ASSERT_EQ(view.tokens().segments.size(), 2U);
    EXPECT_EQ(view.tokens().segments[1].begin, 3U);
    EXPECT_EQ(view.tokens().segments[1].length, 2U);
    EXPECT_EQ(view.tokens().segments[1].sample, 12);
}

// Three of six rows are predicted, and their targets are stored without gaps.
TEST(BatchView, GathersTheTargetsOfPredictedRows) {
    data::Batch batch = padded_batch();
    batch.targets = {-1, 9, -1, 5, 6, -1};
    batch.predicted_rows = {1, 3, 4};

    const BatchView view(batch);

    EXPECT_EQ(view.targets(), (Numbers{9, 5, 6}));
    EXPECT_EQ(numbers_in(view.tokens().predicted_rows), batch.predicted_rows);
    EXPECT_EQ(numbers_in(view.tokens().targets), view.targets());
}

TEST(BatchView, HasARowOfAnswersAndOfContextsForEachSample) {
    data::Batch batch = padded_batch();
    batch.answers = {1, 2, -1, -1};
    batch.contexts = {1, 3, 1, 2};

    const BatchView view(batch);

    EXPECT_EQ(view.tokens().answers.rows, 2U);
    EXPECT_EQ(view.tokens().answers.columns, 2U);
    EXPECT_EQ(numbers_in(view.tokens().answers), batch.answers);
    EXPECT_EQ(numbers_in(view.tokens().contexts), batch.contexts);
}

// Two images have two patches of three values each, after a class token each.
TEST(BatchView, HasARowOfPixelsForEachPatch) {
    data::Batch batch = padded_batch();
    batch.spans = {{.begin = 0, .length = 3, .visit = 0}, {.begin = 3, .length = 3, .visit = 1}};
    batch.pixels = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};

    const BatchView view(batch);

    EXPECT_EQ(view.tokens().pixels.rows, 4U);
    EXPECT_EQ(view.tokens().pixels.columns, 3U);
    EXPECT_EQ(view.tokens().pixels.as<float>().row(3)[0], 9.0F);
}

TEST(BatchView, HasNoRowsForAnEmptyBatch) {
    const data::Batch batch;

    const BatchView view(batch);

    EXPECT_EQ(view.tokens().rows(), 0U);
    EXPECT_TRUE(view.tokens().segments.empty());
    EXPECT_TRUE(view.targets().empty());
}

}  // namespace
}  // namespace trireme::rank
