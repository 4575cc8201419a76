// Token tables with a part of the vocabulary, as the ranks of a tensor group have them.
#include "comparison.hpp"
#include "trireme/kernels/embedding.hpp"

namespace trireme::kernels {
namespace {

using Numbers = std::vector<double>;

constexpr std::size_t vocabulary = 40;
constexpr std::size_t positions = 9;

// Whole numbers have exact sums.
device::Tensor whole_numbers(Operands& t, std::size_t rows, std::size_t columns) {
    const device::Tensor tensor = t.random(rows, columns);
    for (std::size_t r = 0; r < rows; ++r) {
        for (std::size_t c = 0; c < columns; ++c) set(tensor, r, c, std::round(100 * get(tensor, r, c)));
    }
    return tensor;
}

Embedding whole_lookup(Operands& t, std::size_t rows, std::size_t channels) {
    return {.tokens = t.indices(device::DType::i32, rows, vocabulary),
            .positions = t.indices(device::DType::i32, rows, positions),
            .token_table = whole_numbers(t, vocabulary, channels),
            .position_table = whole_numbers(t, positions, channels),
            .types = t.indices(device::DType::i32, rows, 2),
            .type_table = whole_numbers(t, 2, channels),
            .output = t.unwritten(rows, channels)};
}

EmbeddingBackward whole_sums(Operands& t, std::size_t rows, std::size_t channels) {
    return {.tokens = t.indices(device::DType::i32, rows, vocabulary),
            .positions = t.indices(device::DType::i32, rows, positions),
            .grad_output = whole_numbers(t, rows, channels),
            .grad_token_table = whole_numbers(t, vocabulary, channels),
            .grad_position_table = whole_numbers(t, positions, channels)};
}

// Calls `test(first tokens)` for several partitions of the vocabulary; the last entry is the vocabulary's size.
template <class Test>
void for_each_cut(Test&& test) {
    for (const std::vector<std::size_t>& cut :
         {std::vector<std::size_t>{0, 40}, {0, 20, 40}, {0, 1, 40}, {0, 17, 30, 40}, {0, 40, 40}}) {
        SCOPED_TRACE(cat(cut.size() - 1, " parts, the first of ", cut[1], " tokens"));
        test(cut);
    }
}

template <class Test>
void for_each_backend(Test&& test) {
    for (const device::DType dtype : {device::DType::f32, device::DType::f64}) {
        for (device::Stream stream :
             {device::Stream{device::ReferenceStream{}}, device::Stream{device::CpuStream{1}},
              device::Stream{device::CpuStream{2}}}) {
            SCOPED_TRACE(cat(to_string(dtype), ", backend ", stream.backend.index()));
            test(stream, dtype);
        }
    }
}

TEST(EmbeddingPart, AddsNothingForTokensOfOtherRanks) {
    for_each_backend([](device::Stream& stream, device::DType dtype) {
        Operands t(dtype, 2);
        Embedding op{.tokens = t.i32_vector({1, 2, 4, 3}),
                     .positions = t.i32_vector({0, 1, 1, 0}),
                     .token_table = t.numbers(2, 2, {1, 2, 3, 4}),
                     .position_table = t.numbers(2, 2, {10, 20, 30, 40}),
                     .output = t.unwritten(4, 2),
                     .first_token = 2,
                     .vocabulary = 5};

        launch(stream, op);
        EXPECT_EQ(values(op.output), (Numbers{10, 20, 31, 42, 30, 40, 13, 24}));

        op.position_table = {};
        launch(stream, op);
        EXPECT_EQ(values(op.output), (Numbers{0, 0, 1, 2, 0, 0, 3, 4}));
        EXPECT_TRUE(t.has_clean_gaps());
    });
}

TEST(EmbeddingPart, SumsOverAllPartsToTheFullLookup) {
    for_each_backend([](device::Stream& stream, device::DType dtype) {
        for_each_cut([&](const std::vector<std::size_t>& cut) {
            Operands t(dtype, 3);
            const Embedding whole = whole_lookup(t, 300, 129);
            launch(stream, whole);
            Numbers sum(whole.output.size());

            for (std::size_t part = 0; part + 1 < cut.size(); ++part) {
                Embedding op = whole;
                op.token_table = whole.token_table.row_range(cut[part], cut[part + 1] - cut[part]);
                op.output = t.unwritten(300, 129);
                op.first_token = cut[part];
                op.vocabulary = vocabulary;
                if (part > 0) op.position_table = op.type_table = op.types = {};
                launch(stream, op);
                const Numbers terms = values(op.output);
                for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += terms[i];
            }

            EXPECT_EQ(sum, values(whole.output));
            EXPECT_TRUE(t.has_clean_gaps());
        });
    });
}

TEST(EmbeddingBackwardPart, SumsOnlyTheRowsOfItsOwnTokens) {
    for_each_backend([](device::Stream& stream, device::DType dtype) {
        for_each_cut([&](const std::vector<std::size_t>& cut) {
            Operands t(dtype, 3);
            const EmbeddingBackward whole = whole_sums(t, 300, 129);
            const device::Tensor table = t.numbers(vocabulary, 129, values(whole.grad_token_table));
            launch(stream, whole);

            for (std::size_t part = 0; part + 1 < cut.size(); ++part) {
                EmbeddingBackward op = whole;
                op.grad_token_table = table.row_range(cut[part], cut[part + 1] - cut[part]);
                op.grad_position_table = {};
                op.first_token = cut[part];
                op.vocabulary = vocabulary;
                launch(stream, op);
            }

            EXPECT_EQ(values(table), values(whole.grad_token_table));
            EXPECT_TRUE(t.has_clean_gaps());
        });
    });
}

TEST(EmbeddingPart, DoesNotDependOnTheNumberOfThreads) {
    const auto cut_part = [](auto op, auto table) {
        op.first_token = 13;
        op.vocabulary = vocabulary;
        op.*table = (op.*table).row_range(13, 20);
        return op;
    };
    expect_same_bits_on_any_threads(
        [&](Operands& t) { return cut_part(whole_lookup(t, 1100, 101), &Embedding::token_table); });
    expect_same_bits_on_any_threads(
        [&](Operands& t) { return cut_part(whole_sums(t, 1100, 101), &EmbeddingBackward::grad_token_table); });
}

TEST(EmbeddingPart, RejectsTokensOutsideTheVocabulary) {
    for_each_backend([](device::Stream& stream, device::DType dtype) {
        Operands t(dtype);
        const device::Tensor ids = t.i32_vector({0, 5});
        const Embedding forward{.tokens = ids,
                                .positions = ids,
                                .token_table = t.random(2, 2),
                                .output = t.unwritten(2, 2),
                                .first_token = 2,
                                .vocabulary = 5};
        const EmbeddingBackward back{.tokens = ids,
                                     .positions = ids,
                                     .grad_output = t.random(2, 2),
                                     .grad_token_table = t.zeros(2, 2),
                                     .first_token = 2,
                                     .vocabulary = 5};
        const auto sentence = [&](const auto& op) -> std::string {
            try {
                launch(stream, op);
            } catch (const BugError& error) {
                return error.what();
            }
            return "nothing is wrong";
        };

        EXPECT_EQ(sentence(forward), "embedding: tokens[1] is 5, not within 0 .. 4");
        EXPECT_EQ(sentence(back), "embedding_backward: tokens[1] is 5, not within 0 .. 4");
    });
}

TEST(EmbeddingPart, RejectsTablesThatExceedTheVocabulary) {
    Operands t;
    const device::Tensor ids = t.i32_vector({0, 1});
    Embedding forward{.tokens = ids,
                      .positions = ids,
                      .token_table = t.random(3, 2),
                      .output = t.unwritten(2, 2),
                      .first_token = 3,
                      .vocabulary = 5};
    EmbeddingBackward back{.tokens = ids,
                           .positions = ids,
                           .grad_output = t.random(2, 2),
                           .grad_token_table = t.zeros(3, 2),
                           .first_token = 3,
                           .vocabulary = 5};

    EXPECT_EQ(refusal(forward),
              "embedding: a token_table of 3 tokens from token 3 on does not fit into a vocabulary of 5");
    EXPECT_EQ(refusal(back),
              "embedding_backward: a grad_token_table of 3 tokens from token 3 on does not fit into a "
              "vocabulary of 5");

    forward.vocabulary = 0;
    EXPECT_EQ(refusal(forward),
              "embedding: a token_table of 3 tokens from token 3 on does not fit into a vocabulary of 3");
    forward.vocabulary = back.vocabulary = 6;
    EXPECT_EQ(refusal(forward), "nothing is wrong");
    EXPECT_EQ(refusal(back), "nothing is wrong");
}

}  // namespace
}  // namespace trireme::kernels
