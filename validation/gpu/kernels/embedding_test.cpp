#include "trireme/kernels/embedding.hpp"

#include "gpu_comparison.hpp"

namespace trireme {
namespace {

// Sizes of the tables. The token table has `tokens` rows of the vocabulary from `first_token` on, or all if
// `vocabulary` is 0.
struct Tables {
    std::size_t tokens = 40;
    std::size_t first_token = 0;
    std::size_t vocabulary = 0;
    bool has_positions = true;
    bool has_types = true;

    std::size_t all_tokens() const { return vocabulary == 0 ? tokens : vocabulary; }
};

kernels::Embedding make_embedding(GpuOperands& t, std::size_t rows, std::size_t channels,
                                  const Tables& tables) {
    return {.tokens = t.indices(device::DType::i32, rows, tables.all_tokens()),
            .positions = t.indices(device::DType::i32, rows, 9),
            .token_table = t.random(tables.tokens, channels),
            .position_table = tables.has_positions ? t.random(9, channels) : device::Tensor{},
            .types = tables.has_types ? t.indices(device::DType::i32, rows, 2) : device::Tensor{},
            .type_table = tables.has_types ? t.random(2, channels) : device::Tensor{},
            .output = t.unwritten(rows, channels),
            .first_token = tables.first_token,
            .vocabulary = tables.vocabulary};
}

kernels::EmbeddingBackward make_embedding_backward(GpuOperands& t, std::size_t rows, std::size_t channels,
                                                   const Tables& tables) {
    return {.tokens = t.indices(device::DType::i32, rows, tables.all_tokens()),
            .positions = t.indices(device::DType::i32, rows, 9),
            .grad_output = t.random(rows, channels),
            .grad_token_table = t.wide_random(tables.tokens, channels),
            .grad_position_table = tables.has_positions ? t.wide_random(9, channels) : device::Tensor{},
            .types = tables.has_types ? t.indices(device::DType::i32, rows, 2) : device::Tensor{},
            .grad_type_table = tables.has_types ? t.wide_random(2, channels) : device::Tensor{},
            .first_token = tables.first_token,
            .vocabulary = tables.vocabulary};
}

void expect_same_lookups(std::size_t rows, std::size_t channels, const Tables& tables) {
    SCOPED_TRACE(cat(rows, " rows, ", channels, " channels"));
    expect_same_on_gpu([&](GpuOperands& t) { return make_embedding(t, rows, channels, tables); });
    expect_same_on_gpu([&](GpuOperands& t) { return make_embedding_backward(t, rows, channels, tables); });
}

TEST(GpuBackend, MatchesReferenceForEmbedding) {
    for (const std::size_t rows : {0, 1, 37}) {
        for (const std::size_t channels : {1, 24, 257}) expect_same_lookups(rows, channels, {});
    }
}

TEST(GpuBackend, MatchesReferenceForEmbeddingWithFewerTables) {
    expect_same_lookups(20, 33, {.has_positions = false});
    expect_same_lookups(20, 33, {.has_types = false});
    expect_same_lookups(20, 16, {.has_positions = false, .has_types = false});
}

TEST(GpuBackend, MatchesReferenceForEmbeddingOfAVocabularySlice) {
    expect_same_lookups(70, 24, {.tokens = 13, .first_token = 17, .vocabulary = 40});
    expect_same_lookups(70, 5, {.tokens = 13, .vocabulary = 40, .has_positions = false, .has_types = false});
    expect_same_lookups(70, 5, {.tokens = 1, .first_token = 39, .vocabulary = 40});
    expect_same_lookups(20, 5, {.tokens = 0, .first_token = 40, .vocabulary = 40});
}

// More rows than are sorted at once, token ids with one, two and three bytes, and sums of many rows.
TEST(GpuBackend, MatchesReferenceForEmbeddingBackwardOfManyRows) {
    for (const std::size_t tokens : {1, 255, 256, 3000, 70'000}) {
        SCOPED_TRACE(cat(tokens, " tokens"));
        expect_same_on_gpu(
            [&](GpuOperands& t) { return make_embedding_backward(t, 700, 3, {.tokens = tokens}); },
            {device::DType::f32});
    }
}

// Multiples of 1/8 have exact sums, so a row that is missing or added twice is detected.
TEST(GpuBackend, AddsEachEmbeddingGradientRowExactlyOnce) {
    for (const std::size_t rows : {15, 16, 17, 31, 32, 33, 48, 100}) {
        device::Stream stream = kernels::make_gpu_stream();
        GpuOperands t = GpuOperands::of_gpu(stream, device::DType::f32, 1);
        std::vector<double> tokens;
        std::vector<double> gradients;
        std::vector<double> expected{100, 200, 300};
        for (std::size_t r = 0; r < rows; ++r) {
            const std::size_t token = r < 20 ? 1 : r % 3;
            tokens.push_back(static_cast<double>(token));
            gradients.push_back(static_cast<double>(r + 1) / 8);
            expected[token] += gradients.back();
        }
        const device::Tensor indices = t.numbers_of(device::DType::i32, 1, rows, tokens);

        launch(stream, kernels::EmbeddingBackward{.tokens = indices,
                                                  .positions = indices,
                                                  .grad_output = t.numbers(rows, 1, gradients),
                                                  .grad_token_table = t.numbers(3, 1, {100, 200, 300})});

        EXPECT_EQ(kernels::values(t.results()[2]), expected) << rows << " rows";
    }
}

}  // namespace
}  // namespace trireme
