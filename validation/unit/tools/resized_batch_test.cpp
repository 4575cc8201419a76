#include "tools/profile/resized_batch.hpp"

#include <gtest/gtest.h>

namespace trireme::tools {
namespace {

using Numbers = std::vector<std::int32_t>;

// Two samples of 4 and 2 rows, and a padding row. Rows 1, 3 and 5 have targets.
struct TwoLengths {
    Numbers tokens{10, 11, 12, 13, 20, 21, 0};
    Numbers predicted{1, 3, 5};
    Numbers targets{51, 53, 55};
    Numbers answers{1, 3, 0, 1};
    Numbers contexts{0, 4, 1, 2};
    std::vector<kernels::Segment> segments{{.begin = 0, .length = 4, .sample = 7},
                                           {.begin = 4, .length = 2, .sample = 8}};

    static device::ConstTensor make_view(const Numbers& numbers, std::size_t rows = 1) {
        return {numbers.data(), device::DType::i32, rows, numbers.size() / rows, numbers.size() / rows};
    }
    model::TokenBatch view() const {
        model::TokenBatch batch;
        batch.tokens = make_view(tokens);
        batch.segments = segments;
        batch.predicted_rows = make_view(predicted);
        batch.targets = make_view(targets);
        batch.answers = make_view(answers, 2);
        batch.contexts = make_view(contexts, 2);
        return batch;
    }
};

Numbers numbers_of(const device::ConstTensor& tensor) {
    const std::int32_t* const first = tensor.as<std::int32_t>().data;
    return {first, first + tensor.size()};
}

TEST(ResizedBatch, KeepsTheBeginningOfEachSample) {
    const TwoLengths samples;
    const ResizedBatch half(samples.view(), {.length = 0.5});
    const model::TokenBatch view = half.view();

    EXPECT_EQ(numbers_of(view.tokens), (Numbers{10, 11, 20}));
    EXPECT_EQ(numbers_of(view.predicted_rows),
              (Numbers{1, 2}));  // the second sample has no such row left and gets one
    EXPECT_EQ(numbers_of(view.targets), (Numbers{51, 0}));
    EXPECT_EQ(numbers_of(view.answers), (Numbers{1, 1, 0, 0}));
    EXPECT_EQ(numbers_of(view.contexts), (Numbers{0, 2, 0, 1}));
    ASSERT_EQ(view.segments.size(), 2U);
    EXPECT_EQ(view.segments[1].begin, 2U);
    EXPECT_EQ(view.segments[1].length, 1U);
    EXPECT_EQ(view.segments[1].sample, 8);
    EXPECT_FALSE(view.visits.is_present());
}

TEST(ResizedBatch, RepeatsAllSamples) {
    const TwoLengths samples;
    const ResizedBatch twice(samples.view(), {.copies = 2});
    const model::TokenBatch view = twice.view();

    EXPECT_EQ(numbers_of(view.tokens), (Numbers{10, 11, 12, 13, 20, 21, 10, 11, 12, 13, 20, 21}));
    EXPECT_EQ(numbers_of(view.predicted_rows), (Numbers{1, 3, 5, 7, 9, 11}));
    EXPECT_EQ(view.segments[3].begin, 10U);
    EXPECT_EQ(view.answers.rows, 4U);
}

TEST(ResizedBatch, NeverShortensImages) {
    const Numbers tokens(6);
    const std::vector<float> pixels{1, 2, 3, 4,
                                    5, 6, 7, 8};  // two patches of two values for each of two images
    const std::vector<kernels::Segment> segments{{.begin = 0, .length = 3}, {.begin = 3, .length = 3}};
    model::TokenBatch batch;
    batch.tokens = TwoLengths::make_view(tokens);
    batch.segments = segments;
    batch.pixels = {pixels.data(), device::DType::f32, 4, 2, 2};

    const ResizedBatch resized(batch, {.length = 0.25, .copies = 2});
    const model::TokenBatch view = resized.view();

    EXPECT_EQ(view.rows(), 12U);
    EXPECT_EQ(view.pixels.rows, 8U);
    EXPECT_EQ(view.pixels.as<float>()(7, 1), 8);
}

}  // namespace
}  // namespace trireme::tools
