// Compares a backend with the reference: both get the same values, and the reference computes in double.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <type_traits>

#include "oracle.hpp"
#include "trireme/kernels/launch.hpp"

namespace trireme::kernels {

// Error of float after sums of some hundred terms, relative to the largest element of the tensor.
constexpr double float_tolerance = 1e-5;
constexpr double double_tolerance = 1e-12;

inline double tolerance_of(device::DType dtype) {
    return dtype == device::DType::f32 ? float_tolerance : double_tolerance;
}

// Compares every element, including those of inputs, which a kernel must not change.
inline void expect_close(const Operands& got, const Operands& expected, double tolerance) {
    ASSERT_EQ(got.all().size(), expected.all().size());
    for (std::size_t i = 0; i < got.all().size(); ++i) {
        const std::vector<double> have = values(got.all()[i]);
        const std::vector<double> want = values(expected.all()[i]);
        const double allowed = tolerance * largest_magnitude(expected.all()[i]);
        for (std::size_t e = 0; e < want.size(); ++e) {
            // A NaN is never within a distance. It is correct only in elements that are not written.
            const bool is_right = std::abs(have[e] - want[e]) <= allowed;
            const bool is_unwritten = std::isnan(have[e]) && std::isnan(want[e]);
            ASSERT_TRUE(is_right || is_unwritten)
                << "operand " << i << ", element " << e << " of " << want.size() << ": got " << have[e]
                << ", expected " << want[e] << ", allowed difference " << allowed;
        }
    }
    EXPECT_TRUE(got.has_clean_gaps()) << "something was written between the rows of a view";
}

// Returns the message with which both backends refuse the indices of `op`.
template <class Op>
std::string find_index_refusal(const Op& op) {
    std::string reference;
    for (device::Stream stream :
         {device::Stream{device::ReferenceStream{}}, device::Stream{device::CpuStream{}}}) {
        std::string sentence = "nothing is wrong";
        try {
            launch(stream, op);
        } catch (const BugError& error) {
            sentence = error.what();
        }
        if (stream.backend.index() == 0) reference = sentence;
        EXPECT_EQ(sentence, reference);
    }
    return reference;
}

inline constexpr std::array<std::size_t, 4> row_counts{1, 3, 17, 64};
inline constexpr std::array<std::size_t, 8> column_counts{1, 5, 16, 31, 33, 64, 100, 257};

// Calls `test(rows, columns)` for shapes that fill no block evenly, until something fails.
template <class Test>
void for_each_shape(Test&& test) {
    for (const std::size_t rows : row_counts) {
        for (const std::size_t columns : column_counts) {
            SCOPED_TRACE(cat(rows, " rows, ", columns, " columns"));
            test(rows, columns);
            if (testing::Test::HasFailure()) return;
        }
    }
}

// `make` makes the operation from operands. The reference executes it, and the CPU backend does in both
// precisions, with one thread and contiguous rows, and with two threads and gaps between rows.
template <class Make>
void expect_same_on_cpu(Make&& make) {
    Operands expected;
    run_reference(make(expected));
    for (const device::DType dtype : {device::DType::f32, device::DType::f64}) {
        for (const int threads : {1, 2}) {
            const std::size_t gap = threads == 1 ? 0 : 7;
            SCOPED_TRACE(cat(to_string(dtype), ", ", threads, " threads, gaps of ", gap));
            Operands got(dtype, gap);
            device::Stream stream{device::CpuStream{threads}};
            launch(stream, make(got));
            expect_close(got, expected, tolerance_of(dtype));
            if (testing::Test::HasFailure()) return;
        }
    }
}

// True if all elements have the same bits, so that 0 differs from -0 and a NaN equals itself.
inline bool have_same_bits(const Operands& a, const Operands& b) {
    if (a.all().size() != b.all().size()) return false;
    for (std::size_t i = 0; i < a.all().size(); ++i) {
        const device::Tensor& left = a.all()[i];
        const device::Tensor& right = b.all()[i];
        for (std::size_t r = 0; r < left.rows; ++r) {
            const std::size_t bytes = left.columns * byte_size(left.dtype);
            if (std::memcmp(left.row_range(r, 1).data, right.row_range(r, 1).data, bytes) != 0) return false;
        }
    }
    return true;
}

// `make` makes the operation from operands, large enough for several threads. Rows are contiguous or have gaps,
// so that vectors also begin elsewhere.
template <class Make>
void expect_same_bits_on_any_threads(Make&& make) {
    for (const device::DType dtype : {device::DType::f32, device::DType::f64}) {
        Operands expected(dtype);
        device::Stream one_thread{device::CpuStream{1}};
        launch(one_thread, make(expected));
        for (const int threads : {1, 2, 3, 4}) {
            SCOPED_TRACE(cat(to_string(dtype), ", ", threads, " threads"));
            Operands shared(dtype, 5);
            device::Stream stream{device::CpuStream{threads}};
            launch(stream, make(shared));
            EXPECT_TRUE(have_same_bits(shared, expected));
        }
    }
}

}  // namespace trireme::kernels
