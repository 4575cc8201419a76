#include "trireme/kernels/image_rows.hpp"

#include "gpu_comparison.hpp"

namespace trireme {
namespace {

kernels::ImageRows make_image_rows(GpuOperands& t, std::size_t images, std::size_t patches,
                                   std::size_t channels) {
    return {.patches = t.random(images * patches, channels),
            .class_token = t.random(1, channels),
            .position_table = t.random(patches + 1, channels),
            .output = t.unwritten(images * (patches + 1), channels)};
}

kernels::ImageRowsBackward make_image_rows_backward(GpuOperands& t, std::size_t images, std::size_t patches,
                                                    std::size_t channels) {
    return {.grad_output = t.random(images * (patches + 1), channels),
            .grad_patches = t.unwritten(images * patches, channels),
            .grad_class_token = t.wide_random(1, channels),
            .grad_position_table = t.wide_random(patches + 1, channels)};
}

template <class Test>
void for_each_images(Test&& test) {
    for (const std::size_t images : {1, 5, 70}) {
        for (const std::size_t patches : {1, 6}) {
            for (const std::size_t channels : {1, 24, 37}) {
                SCOPED_TRACE(cat(images, " images of ", patches, " patches, ", channels, " channels"));
                test(images, patches, channels);
                if (testing::Test::HasFailure()) return;
            }
        }
    }
}

TEST(GpuBackend, MatchesReferenceForImageRows) {
    for_each_images([](std::size_t images, std::size_t patches, std::size_t channels) {
        expect_same_on_gpu([&](GpuOperands& t) { return make_image_rows(t, images, patches, channels); });
    });
}

TEST(GpuBackend, MatchesReferenceForImageRowsBackward) {
    for_each_images([](std::size_t images, std::size_t patches, std::size_t channels) {
        expect_same_on_gpu(
            [&](GpuOperands& t) { return make_image_rows_backward(t, images, patches, channels); });
    });
}

TEST(GpuBackend, AcceptsImageRowsWithoutImages) {
    expect_same_on_gpu([](GpuOperands& t) { return make_image_rows(t, 0, 3, 8); });
    expect_same_on_gpu([](GpuOperands& t) { return make_image_rows_backward(t, 0, 3, 8); });
}

}  // namespace
}  // namespace trireme
