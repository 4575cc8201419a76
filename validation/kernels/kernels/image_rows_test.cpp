#include "trireme/kernels/image_rows.hpp"

#include "comparison.hpp"

namespace trireme::kernels {
namespace {

using Numbers = std::vector<double>;

TEST(ImageRows, StartEachImageWithTheClassTokenAndAddPositions) {
    for (const device::DType dtype : {device::DType::f32, device::DType::f64}) {
        for (device::Stream stream :
             {device::Stream{device::ReferenceStream{}}, device::Stream{device::CpuStream{}}}) {
            Operands t(dtype, 2);
            const ImageRows op{.patches = t.numbers(4, 2, {1, 2, 3, 4, 5, 6, 7, 8}),
                               .class_token = t.numbers(1, 2, {-1, -2}),
                               .position_table = t.numbers(3, 2, {100, 200, 300, 400, 500, 600}),
                               .output = t.unwritten(6, 2)};

            launch(stream, op);

            EXPECT_EQ(values(op.output), (Numbers{99, 198, 301, 402, 503, 604, 99, 198, 305, 406, 507, 608}));
            EXPECT_TRUE(t.has_clean_gaps());
        }
    }
}

TEST(ImageRowsBackward, AddsUpClassTokenAndPositionGradientsOverImages) {
    for (const device::DType dtype : {device::DType::f32, device::DType::f64}) {
        for (device::Stream stream :
             {device::Stream{device::ReferenceStream{}}, device::Stream{device::CpuStream{}}}) {
            Operands t(dtype, 2);
            const ImageRowsBackward op{.grad_output = t.numbers(6, 2, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}),
                                       .grad_patches = t.unwritten(4, 2),
                                       .grad_class_token = t.numbers(1, 2, {100, 100}),
                                       .grad_position_table = t.numbers(3, 2, Numbers(6, 200))};

            launch(stream, op);

            EXPECT_EQ(values(op.grad_patches), (Numbers{3, 4, 5, 6, 9, 10, 11, 12}));
            EXPECT_EQ(values(op.grad_class_token), (Numbers{108, 110}));
            EXPECT_EQ(values(op.grad_position_table), (Numbers{208, 210, 212, 214, 216, 218}));
            EXPECT_TRUE(t.has_clean_gaps());
        }
    }
}

TEST(ImageRows, AddNoGradientsForZeroImages) {
    for (device::Stream stream :
         {device::Stream{device::ReferenceStream{}}, device::Stream{device::CpuStream{2}}}) {
        Operands t;
        const ImageRowsBackward op{t.random(0, 2), t.unwritten(0, 2), t.numbers(1, 2, {1, 2}),
                                   t.numbers(2, 2, {3, 4, 5, 6})};

        launch(stream, ImageRows{t.random(0, 2), t.random(1, 2), t.random(2, 2), t.unwritten(0, 2)});
        launch(stream, op);

        EXPECT_EQ(values(op.grad_class_token), (Numbers{1, 2}));
        EXPECT_EQ(values(op.grad_position_table), (Numbers{3, 4, 5, 6}));
    }
}

TEST(ImageRowsBackward, MatchesFiniteDifferences) {
    Operands t;
    const device::Tensor patches = t.random(6, 4);
    const device::Tensor class_token = t.random(1, 4);
    const device::Tensor position_table = t.random(3, 4);
    const device::Tensor grad_output = t.random(9, 4);
    const ImageRows forward{patches, class_token, position_table, t.unwritten(9, 4)};
    const ImageRowsBackward back{grad_output, t.unwritten(6, 4), t.zeros(1, 4), t.zeros(3, 4)};
    const auto loss = [&] {
        run_reference(forward);
        return dot(forward.output, grad_output);
    };

    run_reference(back);

    expect_gradient("patches", back.grad_patches, patches, loss);
    expect_gradient("class token", back.grad_class_token, class_token, loss);
    expect_gradient("place table", back.grad_position_table, position_table, loss);
}

ImageRows images_of(Operands& t, std::size_t images, std::size_t patches, std::size_t channels) {
    return {.patches = t.random(images * patches, channels),
            .class_token = t.random(1, channels),
            .position_table = t.random(patches + 1, channels),
            .output = t.unwritten(images * (patches + 1), channels)};
}

ImageRowsBackward make_backward(Operands& t, std::size_t images, std::size_t patches, std::size_t channels) {
    return {.grad_output = t.random(images * (patches + 1), channels),
            .grad_patches = t.unwritten(images * patches, channels),
            .grad_class_token = t.random(1, channels),
            .grad_position_table = t.random(patches + 1, channels)};
}

TEST(ImageRows, MatchReferenceOnCpu) {
    for_each_shape([](std::size_t patches, std::size_t channels) {
        for (const std::size_t images : {1, 5}) {
            expect_same_on_cpu([&](Operands& t) { return images_of(t, images, patches, channels); });
            expect_same_on_cpu([&](Operands& t) { return make_backward(t, images, patches, channels); });
        }
    });
}

TEST(ImageRows, DoNotDependOnTheNumberOfThreads) {
    expect_same_bits_on_any_threads([](Operands& t) { return images_of(t, 21, 64, 101); });
    expect_same_bits_on_any_threads([](Operands& t) { return make_backward(t, 21, 64, 101); });
}

TEST(ImageRows, RejectMismatchedShapes) {
    Operands t(device::DType::f32);
    const ImageRows no_patch{t.random(0, 2), t.random(1, 2), t.random(1, 2), t.unwritten(0, 2)};
    const ImageRows half_image{t.random(5, 2), t.random(1, 2), t.random(4, 2), t.unwritten(8, 2)};
    const ImageRows few_rows{t.random(6, 2), t.random(1, 2), t.random(4, 2), t.unwritten(6, 2)};
    const ImageRows two_tokens{t.random(6, 2), t.random(2, 2), t.random(4, 2), t.unwritten(8, 2)};
    const ImageRowsBackward wide{t.random(8, 3), t.random(6, 2), t.random(1, 3), t.random(4, 3)};

    EXPECT_EQ(refusal(no_patch),
              "image_rows: position_table needs at least 2 rows, for the class token and a patch, but has 1");
    EXPECT_EQ(refusal(half_image),
              "image_rows: 5 rows of patches cannot be cut into images (patches per image: 3)");
    EXPECT_EQ(refusal(few_rows), "image_rows: output is f32 6 x 2, not f32 8 x 2");
    EXPECT_EQ(refusal(two_tokens), "image_rows: class_token is f32 2 x 2, not f32 1 x 2");
    EXPECT_EQ(refusal(wide), "image_rows_backward: grad_patches is f32 6 x 2, not f32 6 x 3");
}

TEST(ImageRows, CountBytesOfEachElementOnceAndOfSumsTwice) {
    Operands t(device::DType::f32);

    EXPECT_EQ(images_of(t, 2, 3, 5).cost().bytes, 4 * 5 * (6 + 1 + 4 + 8));
    EXPECT_EQ(make_backward(t, 2, 3, 5).cost().bytes, 4 * 5 * (8 + 6 + 2 * (1 + 4)));
}

}  // namespace
}  // namespace trireme::kernels
