// Compares the GPU kernels with the reference: both get the same values, and the reference computes in double.
#pragma once

#include <gtest/gtest.h>

#include <cstring>

#include "emulated_gpu/order.hpp"
#include "gpu_operands.hpp"
#include "trireme/kernels/gpu_stream.hpp"

namespace trireme {

// Calls `test(rows, columns)` for shapes that fill no warp and no block evenly, until something fails.
template <class Test>
void for_each_gpu_shape(Test&& test) {
    for (const std::size_t rows : {1, 5, 37}) {
        for (const std::size_t columns : {1, 6, 64, 257}) {
            if (rows * columns > 20000) continue;
            SCOPED_TRACE(cat(rows, " rows, ", columns, " columns"));
            test(rows, columns);
            if (testing::Test::HasFailure()) return;
        }
    }
}

// Returns the tolerance relative to the largest element of a tensor.
inline double gpu_tolerance(device::DType dtype) {
    if (dtype == device::DType::bf16) return 1e-2;
    return dtype == device::DType::f32 ? 1e-5 : 1e-12;
}

inline void expect_close(GpuOperands& got, GpuOperands& expected, double tolerance) {
    const std::vector<device::Tensor> have = got.results();
    const std::vector<device::Tensor> want = expected.results();
    ASSERT_EQ(have.size(), want.size());
    for (std::size_t i = 0; i < want.size(); ++i) {
        const std::vector<double> own = kernels::values(have[i]);
        const std::vector<double> other = kernels::values(want[i]);
        const double allowed = tolerance * kernels::largest_magnitude(want[i]);
        for (std::size_t e = 0; e < other.size(); ++e) {
            const bool is_right = std::abs(own[e] - other[e]) <= allowed;
            const bool is_unwritten = std::isnan(own[e]) && std::isnan(other[e]);
            ASSERT_TRUE(is_right || is_unwritten)
                << "operand " << i << ", element " << e << " of " << other.size() << ": got " << own[e]
                << ", expected " << other[e] << ", allowed difference " << allowed;
        }
    }
    EXPECT_TRUE(got.has_clean_gaps()) << "something was written between the rows of a view";
}

inline void expect_same_bits(GpuOperands& got, GpuOperands& expected) {
    const std::vector<device::Tensor> have = got.results();
    const std::vector<device::Tensor> want = expected.results();
    for (std::size_t i = 0; i < want.size(); ++i) {
        for (std::size_t r = 0; r < want[i].rows; ++r) {
            const device::Tensor row = want[i].row_range(r, 1);
            ASSERT_EQ(std::memcmp(have[i].row_range(r, 1).data, row.data, row.bytes()), 0)
                << "operand " << i << ", row " << r << ", has other bits";
        }
    }
}

// `make` makes the operation from operands. The reference executes it in double. The GPU executes it in the
// given precisions, with and without gaps between rows, and again with its threads in another order, which must
// give the same bits.
template <class Make>
void expect_same_on_gpu(Make&& make, const std::vector<device::DType>& dtypes = {
                                         device::DType::f64, device::DType::f32, device::DType::bf16}) {
    for (const device::DType dtype : dtypes) {
        GpuOperands expected = GpuOperands::for_reference(dtype);
        kernels::run_reference(make(expected));
        for (const std::size_t gap : {0, 8}) {
            SCOPED_TRACE(cat(to_string(dtype), ", gaps of ", gap));
            device::Stream stream = kernels::make_gpu_stream();
            GpuOperands got = GpuOperands::of_gpu(stream, dtype, gap);
            kernels::launch(stream, make(got));
            expect_close(got, expected, gpu_tolerance(dtype));
            GpuOperands again = GpuOperands::of_gpu(stream, dtype, gap);
            emulated::shuffle_threads(7 + gap);
            kernels::launch(stream, make(again));
            expect_same_bits(again, got);
            emulated::shuffle_threads(0);
            if (testing::Test::HasFailure()) return;
        }
    }
}

}  // namespace trireme
