#include <gtest/gtest.h>

#include <array>
#include <string>

#include "trireme/device/buffer.hpp"

namespace trireme::device {
namespace {

template <class T, std::size_t size>
Tensor matrix_in(std::array<T, size>& memory, std::size_t rows, std::size_t columns, std::size_t stride) {
    return {memory.data(), to_dtype<T>(), rows, columns, stride};
}

TEST(CopyRows, CopiesExactlyTheElementsOfTheTensor) {
    std::array<double, 5> from{1, 2, 3, 4, 5};
    std::array<double, 5> to{};

    copy_rows(matrix_in(from, 2, 2, 2), matrix_in(to, 2, 2, 2));

    EXPECT_EQ(to, (std::array<double, 5>{1, 2, 3, 4, 0}));
}

TEST(CopyRows, LeavesGapsBetweenRowsUnchanged) {
    std::array<float, 6> from{1, 2, 10, 3, 4, 20};
    std::array<float, 8> to{9, 9, 9, 9, 9, 9, 9, 9};

    copy_rows(matrix_in(from, 2, 2, 3), matrix_in(to, 2, 2, 4));

    EXPECT_EQ(to, (std::array<float, 8>{1, 2, 9, 9, 3, 4, 9, 9}));
}

TEST(CopyRows, CopiesBf16ValuesUnchanged) {
    std::array<Bf16, 2> from{1.5F, -3.0F};
    std::array<Bf16, 2> to{};

    copy_rows(matrix_in(from, 1, 2, 2), matrix_in(to, 1, 2, 2));

    EXPECT_EQ(to[0], 1.5F);
    EXPECT_EQ(to[1], -3.0F);
}

// A ghost has no memory; reading or writing at its address would end the program.
TEST(CopyRows, CopiesNothingFromOrToAGhost) {
    std::array<float, 2> memory{1, 2};
    const Tensor own = matrix_in(memory, 1, 2, 2);
    Tensor ghost{nullptr, DType::f32, 1, 2, 2, MemorySpace::ghost};

    copy_rows(own, ghost);
    copy_rows(ghost, own);
    copy_rows({}, {});

    EXPECT_EQ(memory, (std::array<float, 2>{1, 2}));
}

TEST(CopyRows, RejectsDifferentTypesOrShapes) {
    std::array<float, 6> floats{};
    std::array<double, 6> doubles{};
    const auto refusal = [](const Tensor& from, const Tensor& to) -> std::string {
        try {
            copy_rows(from, to);
        } catch (const BugError& error) {
            return error.what();
        }
        return "nothing is wrong";
    };

    EXPECT_EQ(refusal(matrix_in(floats, 2, 3, 3), matrix_in(floats, 3, 2, 2)),
              "cannot copy 2 x 3 elements of f32 to 3 x 2 elements of f32");
    EXPECT_EQ(refusal(matrix_in(floats, 2, 3, 3), matrix_in(doubles, 2, 3, 3)),
              "cannot copy 2 x 3 elements of f32 to 2 x 3 elements of f64");
}

}  // namespace
}  // namespace trireme::device
