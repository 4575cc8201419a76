#include "trireme/kernels/rotary.hpp"

#include "gpu_comparison.hpp"

namespace trireme {
namespace {

// Frequencies of GPT-NeoX and Llama: base^(-c / half).
std::vector<double> frequencies_of(std::size_t half, double base = 10000) {
    std::vector<double> frequencies;
    for (std::size_t c = 0; c < half; ++c)
        frequencies.push_back(std::pow(base, -static_cast<double>(c) / static_cast<double>(half)));
    return frequencies;
}

TEST(GpuBackend, MatchesReferenceForRotary) {
    for (const std::size_t half : {1, 6, 8, 32}) {
        const std::vector<double> frequencies = frequencies_of(half);
        for (const std::size_t rows : {1, 37}) {
            for (const std::size_t heads : {1, 3}) {
                for (const bool is_backward : {false, true}) {
                    SCOPED_TRACE(cat(rows, " rows, ", heads, " heads, half of each ", half));
                    expect_same_on_gpu([&](GpuOperands& t) {
                        return kernels::Rotary{t.random(rows, 2 * heads * half),
                                               t.indices(device::DType::i32, rows, 4096), frequencies,
                                               is_backward};
                    });
                }
            }
        }
    }
}

// Column ranges of a fused projection, in which keys need not begin on a vector.
TEST(GpuBackend, MatchesReferenceForRotaryOnColumnRanges) {
    for (const std::size_t half : {3, 8}) {
        const std::vector<double> frequencies = frequencies_of(half);
        expect_same_on_gpu([&](GpuOperands& t) {
            const device::Tensor all = t.random(5, 10 * half);
            return kernels::Rotary{all.column_range(4 * half, 6 * half), t.indices(device::DType::i32, 5, 64),
                                   frequencies};
        });
    }
}

// More frequencies than a block can hold.
TEST(GpuBackend, MatchesReferenceForRotaryWithLargeHeads) {
    for (const std::size_t half : {520, 515}) {
        const std::vector<double> frequencies = frequencies_of(half);
        expect_same_on_gpu([&](GpuOperands& t) {
            return kernels::Rotary{t.random(5, 2 * half), t.indices(device::DType::i32, 5, 64), frequencies};
        });
    }
}

// Positions are multiplied with frequencies in double: the reference rounds the same angle.
TEST(GpuBackend, MatchesReferenceForRotaryAtExtremePositions) {
    const std::vector<double> frequencies = frequencies_of(33, 50);
    const std::vector<double> positions{0, 1, -1, 1 << 20, 1000003, 355 << 12, 2147483647, -2147483648.0};
    expect_same_on_gpu([&](GpuOperands& t) {
        return kernels::Rotary{t.random(positions.size(), 66),
                               t.numbers_of(device::DType::i32, 1, positions.size(), positions), frequencies};
    });
}

TEST(GpuBackend, AcceptsRotaryWithoutRowsOrHeads) {
    const std::vector<double> frequencies = frequencies_of(4);
    expect_same_on_gpu([&](GpuOperands& t) {
        return kernels::Rotary{t.random(0, 16), t.indices(device::DType::i32, 0, 9), frequencies};
    });
    expect_same_on_gpu([&](GpuOperands& t) {
        return kernels::Rotary{t.random(3, 0), t.indices(device::DType::i32, 3, 9), frequencies};
    });
}

}  // namespace
}  // namespace trireme
