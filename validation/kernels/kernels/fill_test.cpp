#include "trireme/kernels/fill.hpp"

#include "oracle.hpp"

namespace trireme::kernels {
namespace {

const RandomKey key = RandomKey{3}.then("transformer.wte.weight");

TEST(Fill, WritesAllElementsAndNothingElse) {
    for (const device::DType dtype : {device::DType::f32, device::DType::f64}) {
        Operands t(dtype, 2);
        const Fill op{t.unwritten(3, 5), 2.5};

        run_reference(op);

        EXPECT_EQ(values(op.output), std::vector<double>(15, 2.5));
        EXPECT_TRUE(t.has_clean_gaps());
    }
}

TEST(FillNormal, UsesTheBoxMullerTransform) {
    Operands t;
    const FillNormal op{.output = t.unwritten(1, 8), .key = key, .deviation = 0.5, .global_columns = 8};

    run_reference(op);

    const RandomBlock words = random_block(key, 1);
    const double radius = std::sqrt(-2 * std::log((words[2] + 1.0) / 4294967296.0));
    const double angle = 2 * 3.14159265358979323846 * (words[3] / 4294967296.0);
    EXPECT_DOUBLE_EQ(get(op.output, 0, 6), 0.5 * radius * std::cos(angle));
    EXPECT_DOUBLE_EQ(get(op.output, 0, 7), 0.5 * radius * std::sin(angle));
}

TEST(FillNormal, RoundsTheDoubleResultsToFloat) {
    Operands wide(device::DType::f64);
    Operands narrow(device::DType::f32);
    const FillNormal doubles{.output = wide.unwritten(4, 9), .key = key, .global_columns = 9};
    const FillNormal floats{.output = narrow.unwritten(4, 9), .key = key, .global_columns = 9};

    run_reference(doubles);
    run_reference(floats);

    for (std::size_t i = 0; i < 36; ++i) {
        EXPECT_EQ(values(floats.output)[i], static_cast<float>(values(doubles.output)[i]));
    }
}

TEST(FillNormal, GivesASliceTheSameValuesAsTheFullTensor) {
    Operands t;
    const FillNormal whole{.output = t.unwritten(6, 11), .key = key, .global_columns = 11};
    const FillNormal slice{
        .output = t.unwritten(3, 5), .key = key, .first_element = 2 * 11 + 3, .global_columns = 11};

    run_reference(whole);
    run_reference(slice);

    EXPECT_EQ(values(slice.output), values(whole.output.row_range(2, 3).column_range(3, 5)));
}

TEST(FillNormal, HasTheMomentsOfANormalDistribution) {
    constexpr double count = 40000;
    Operands t;
    const FillNormal op{.output = t.unwritten(200, 200), .key = key, .deviation = 2, .global_columns = 200};

    run_reference(op);

    double sum = 0;
    double squares = 0;
    double beyond = 0;
    for (const double value : values(op.output)) {
        sum += value;
        squares += value * value;
        beyond += std::abs(value) > 2 * 1.959964;
    }
    // The tolerances are five standard deviations of each estimate.
    EXPECT_NEAR(sum / count, 0, 5 * 2 / std::sqrt(count));
    EXPECT_NEAR(squares / count, 4, 5 * 4 * std::sqrt(2 / count));
    EXPECT_NEAR(beyond / count, 0.05, 5 * std::sqrt(0.05 * 0.95 / count));
}

TEST(Fill, RejectsIntegersAndTooWideSlices) {
    Operands t;
    const Fill integers{t.indices(device::DType::i32, 3, 9), 1};
    const FillNormal wide{.output = t.unwritten(3, 5), .key = key, .global_columns = 4};

    EXPECT_EQ(refusal(integers), "fill: is defined for f32, f64 and bf16, not for i32");
    EXPECT_EQ(refusal(wide), "fill_normal: a slice of 5 columns cannot come from a tensor of 4 columns");
}

TEST(Fill, CountsTheBytesOfItsOutput) {
    Operands t(device::DType::f32);

    EXPECT_EQ((Fill{t.unwritten(3, 5), 1}.cost().bytes), 60);
    EXPECT_EQ((FillNormal{.output = t.unwritten(3, 5), .key = key, .global_columns = 5}.cost().bytes), 60);
}

}  // namespace
}  // namespace trireme::kernels
