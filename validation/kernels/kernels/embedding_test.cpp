#include "trireme/kernels/embedding.hpp"

#include "comparison.hpp"

namespace trireme::kernels {
namespace {

using Numbers = std::vector<double>;

TEST(Embedding, AddsTheRowsOfTokenAndPosition) {
    for (const device::DType dtype : {device::DType::f32, device::DType::f64}) {
        Operands t(dtype, 2);
        Embedding op{.tokens = t.i32_vector({2, 0, 2}),
                     .positions = t.i32_vector({0, 1, 1}),
                     .token_table = t.numbers(3, 2, {1, 2, 3, 4, 5, 6}),
                     .position_table = t.numbers(2, 2, {10, 20, 30, 40}),
                     .output = t.unwritten(3, 2)};

        run_reference(op);
        EXPECT_EQ(values(op.output), (Numbers{15, 26, 31, 42, 35, 46}));

        op.position_table = {};
        run_reference(op);
        EXPECT_EQ(values(op.output), (Numbers{5, 6, 1, 2, 5, 6}));
        EXPECT_TRUE(t.has_clean_gaps());
    }
}

TEST(Embedding, AddsTheRowOfTheTokenType) {
    for (const device::DType dtype : {device::DType::f32, device::DType::f64}) {
        for (device::Stream stream :
             {device::Stream{device::ReferenceStream{}}, device::Stream{device::CpuStream{}}}) {
            Operands t(dtype, 2);
            Embedding op{.tokens = t.i32_vector({2, 0, 2}),
                         .positions = t.i32_vector({0, 1, 1}),
                         .token_table = t.numbers(3, 2, {1, 2, 3, 4, 5, 6}),
                         .position_table = t.numbers(2, 2, {10, 20, 30, 40}),
                         .types = t.i32_vector({1, 0, 0}),
                         .type_table = t.numbers(2, 2, {100, 200, 300, 400}),
                         .output = t.unwritten(3, 2)};

            launch(stream, op);
            EXPECT_EQ(values(op.output), (Numbers{315, 426, 131, 242, 135, 246}));

            op.position_table = {};
            launch(stream, op);
            EXPECT_EQ(values(op.output), (Numbers{305, 406, 101, 202, 105, 206}));
            EXPECT_TRUE(t.has_clean_gaps());
        }
    }
}

TEST(EmbeddingBackward, AddsGradientsToTheTypeRowsThatWereRead) {
    for (device::Stream stream :
         {device::Stream{device::ReferenceStream{}}, device::Stream{device::CpuStream{}}}) {
        Operands t(device::DType::f32, 3);
        const EmbeddingBackward op{.tokens = t.i32_vector({0, 0, 0}),
                                   .positions = t.i32_vector({0, 1, 2}),
                                   .grad_output = t.numbers(3, 2, {1, 2, 3, 4, 5, 6}),
                                   .grad_token_table = t.zeros(1, 2),
                                   .types = t.i32_vector({2, 0, 2}),
                                   .grad_type_table = t.numbers(3, 2, Numbers(6, 100))};

        launch(stream, op);

        EXPECT_EQ(values(op.grad_type_table), (Numbers{103, 104, 100, 100, 106, 108}));
        EXPECT_EQ(values(op.grad_token_table), (Numbers{9, 12}));
        EXPECT_TRUE(t.has_clean_gaps());
    }
}

Embedding lookup_of(Operands& t, std::size_t rows, std::size_t channels, bool has_positions) {
    const device::ConstTensor positions = has_positions ? t.random(9, channels) : device::ConstTensor{};
    return {.tokens = t.indices(device::DType::i32, rows, 40),
            .positions = t.indices(device::DType::i32, rows, 9),
            .token_table = t.random(40, channels),
            .position_table = positions,
            .types = t.indices(device::DType::i32, rows, 2),
            .type_table = t.random(2, channels),
            .output = t.unwritten(rows, channels)};
}

EmbeddingBackward make_sums(Operands& t, std::size_t rows, std::size_t channels, bool has_positions) {
    const device::Tensor positions = has_positions ? t.random(9, channels) : device::Tensor{};
    return {.tokens = t.indices(device::DType::i32, rows, 40),
            .positions = t.indices(device::DType::i32, rows, 9),
            .grad_output = t.random(rows, channels),
            .grad_token_table = t.random(40, channels),
            .grad_position_table = positions,
            .types = t.indices(device::DType::i32, rows, 2),
            .grad_type_table = t.random(2, channels)};
}

TEST(Embedding, MatchesReferenceOnCpuWithTokenTypes) {
    for_each_shape([](std::size_t rows, std::size_t channels) {
        for (const bool has_positions : {true, false}) {
            expect_same_on_cpu([&](Operands& t) { return lookup_of(t, rows, channels, has_positions); });
            expect_same_on_cpu([&](Operands& t) { return make_sums(t, rows, channels, has_positions); });
        }
    });
}

TEST(Embedding, DoesNotDependOnTheNumberOfThreads) {
    expect_same_bits_on_any_threads([](Operands& t) { return lookup_of(t, 1100, 101, true); });
    expect_same_bits_on_any_threads([](Operands& t) { return make_sums(t, 1100, 101, true); });
}

TEST(EmbeddingBackward, AddsGradientsToTheRowsThatWereRead) {
    Operands t(device::DType::f32);
    const EmbeddingBackward op{.tokens = t.i32_vector({2, 0, 2}),
                               .positions = t.i32_vector({0, 1, 1}),
                               .grad_output = t.numbers(3, 2, {1, 2, 3, 4, 5, 6}),
                               .grad_token_table = t.numbers(3, 2, Numbers(6, 100)),
                               .grad_position_table = t.numbers(2, 2, Numbers(4, 200))};

    run_reference(op);

    EXPECT_EQ(values(op.grad_token_table), (Numbers{103, 104, 100, 100, 106, 108}));
    EXPECT_EQ(values(op.grad_position_table), (Numbers{201, 202, 208, 210}));
}

TEST(EmbeddingBackward, MatchesFiniteDifferences) {
    Operands t;
    const device::Tensor tokens = t.indices(device::DType::i32, 9, 5);
    const device::Tensor positions = t.indices(device::DType::i32, 9, 4);
    const device::Tensor token_table = t.random(5, 3);
    const device::Tensor position_table = t.random(4, 3);
    const device::Tensor grad_output = t.random(9, 3);
    const device::Tensor types = t.indices(device::DType::i32, 9, 2);
    const device::Tensor type_table = t.random(2, 3);
    const Embedding forward{tokens, positions,  token_table,      position_table,
                            types,  type_table, t.unwritten(9, 3)};
    const EmbeddingBackward back{tokens,        positions, grad_output,  t.zeros(5, 3),
                                 t.zeros(4, 3), types,     t.zeros(2, 3)};
    const auto loss = [&] {
        run_reference(forward);
        return dot(forward.output, grad_output);
    };

    run_reference(back);

    expect_gradient("token table", back.grad_token_table, token_table, loss);
    expect_gradient("position table", back.grad_position_table, position_table, loss);
    expect_gradient("type table", back.grad_type_table, type_table, loss);
}

TEST(Embedding, RejectsIndicesOutsideTheTables) {
    Operands t;
    const device::Tensor good = t.i32_vector({0, 1});
    const device::Tensor table = t.random(3, 2);
    const Embedding forward{
        .tokens = t.i32_vector({1, 3}), .positions = good, .token_table = table, .output = t.unwritten(2, 2)};
    const Embedding typed{.tokens = good,
                          .positions = good,
                          .token_table = table,
                          .types = t.i32_vector({0, 2}),
                          .type_table = t.random(2, 2),
                          .output = t.unwritten(2, 2)};
    const EmbeddingBackward typed_back{.tokens = good,
                                       .positions = good,
                                       .grad_output = t.random(2, 2),
                                       .grad_token_table = t.zeros(3, 2),
                                       .types = t.i32_vector({-1, 0}),
                                       .grad_type_table = t.zeros(2, 2)};
    const EmbeddingBackward back{good, t.i32_vector({-1, 0}), t.random(2, 2), t.zeros(3, 2), t.zeros(3, 2)};
    const auto sentence = [](const auto& op) -> std::string {
        try {
            run_reference(op);
        } catch (const BugError& error) {
            return error.what();
        }
        return "nothing is wrong";
    };

    EXPECT_EQ(sentence(forward), "embedding: tokens[1] is 3, not within 0 .. 2");
    EXPECT_EQ(sentence(back), "embedding_backward: positions[0] is -1, not within 0 .. 2");
    EXPECT_EQ(sentence(typed), "embedding: types[1] is 2, not within 0 .. 1");
    EXPECT_EQ(sentence(typed_back), "embedding_backward: types[0] is -1, not within 0 .. 1");
}

TEST(Embedding, RejectsMismatchedShapes) {
    Operands t;
    const device::Tensor pair = t.i32_vector({0, 1});
    const Embedding few_tokens{.tokens = pair,
                               .positions = t.i32_vector({0, 1, 2}),
                               .token_table = t.random(5, 4),
                               .output = t.unwritten(3, 4)};
    const Embedding wide_table{pair, pair, t.random(5, 4), t.random(5, 3), {}, {}, t.unwritten(2, 4)};
    const EmbeddingBackward wide_ids{
        t.indices(device::DType::i64, 2, 5), pair, t.random(2, 4), t.zeros(5, 4), {}};

    EXPECT_EQ(refusal(few_tokens), "embedding: tokens is i32 1 x 2, not i32 1 x 3");
    EXPECT_EQ(refusal(wide_table), "embedding: position_table is f64 5 x 3, not f64 5 x 4");
    EXPECT_EQ(refusal(wide_ids), "embedding_backward: tokens is i64 1 x 2, not i32 1 x 2");
}

TEST(Embedding, RejectsMismatchedTokenTypes) {
    Operands t;
    const device::Tensor pair = t.i32_vector({0, 1});
    Embedding op{.tokens = pair,
                 .positions = pair,
                 .token_table = t.random(5, 4),
                 .types = pair,
                 .output = t.unwritten(2, 4)};
    EmbeddingBackward back{.tokens = pair,
                           .positions = pair,
                           .grad_output = t.random(2, 4),
                           .grad_token_table = t.zeros(5, 4),
                           .types = pair};

    EXPECT_EQ(refusal(op), "embedding: there are 2 types but no type_table");
    EXPECT_EQ(refusal(back), "embedding_backward: there are 2 types but no grad_type_table");

    op.type_table = t.random(2, 3);
    back.grad_type_table = t.zeros(2, 3);
    EXPECT_EQ(refusal(op), "embedding: type_table is f64 2 x 3, not f64 2 x 4");
    EXPECT_EQ(refusal(back), "embedding_backward: grad_type_table is f64 2 x 3, not f64 2 x 4");

    op.types = t.i32_vector({0});
    back.types = {};
    EXPECT_EQ(refusal(op), "embedding: types is i32 1 x 1, not i32 1 x 2");
    EXPECT_EQ(refusal(back), "embedding_backward: types is f32 0 x 0, not i32 1 x 2");
}

TEST(Embedding, CountsBytesOnlyOfRowsThatCanBeAccessed) {
    Operands t(device::DType::f32);
    const device::Tensor ids = t.i32_vector({0, 1, 0});
    Embedding forward{ids, ids, t.random(50, 4), t.random(2, 4), {}, {}, t.unwritten(3, 4)};
    EmbeddingBackward back{ids, ids, t.random(3, 4), t.zeros(50, 4), {}};

    EXPECT_EQ(forward.cost().bytes, 4 * (3 + 3 + 3 * 4 + 2 * 4 + 3 * 4));
    EXPECT_EQ(back.cost().bytes, 4 * (3 + 3 + 3 * 4 + 2 * 3 * 4));

    forward.types = back.types = ids;
    forward.type_table = back.grad_type_table = t.zeros(2, 4);
    EXPECT_EQ(forward.cost().bytes, 4 * (3 + 3 + 3 + 3 * 4 + 2 * 4 + 2 * 4 + 3 * 4));
    EXPECT_EQ(back.cost().bytes, 4 * (3 + 3 + 3 + 3 * 4 + 2 * 3 * 4 + 2 * 2 * 4));
}

}  // namespace
}  // namespace trireme::kernels
