#include "trireme/kernels/dropout.hpp"

#include "gpu_comparison.hpp"

namespace trireme {
namespace {

// First channels of a slice. If one is not a multiple of four, the kernel uses no vectors.
constexpr std::array<std::size_t, 3> first_channels{0, 12, 6};

// The rate has an exact scale, because the only element of the smallest shape almost cancels.
TEST(GpuBackend, MatchesReferenceForResidualAdd) {
    for_each_gpu_shape([](std::size_t rows, std::size_t columns) {
        for (const std::size_t first_channel : first_channels) {
            expect_same_on_gpu([&](GpuOperands& t) {
                return kernels::ResidualAdd{t.random(rows, columns), t.random(rows, columns),
                                            t.unwritten(rows, columns),
                                            dropout_of(t, rows, 0.5, first_channel)};
            });
        }
    });
}

TEST(GpuBackend, MatchesReferenceForResidualAddWithoutDropoutOrResidual) {
    for_each_gpu_shape([](std::size_t rows, std::size_t columns) {
        expect_same_on_gpu([&](GpuOperands& t) {
            return kernels::ResidualAdd{t.random(rows, columns), t.random(rows, columns),
                                        t.unwritten(rows, columns)};
        });
        expect_same_on_gpu([&](GpuOperands& t) {
            return kernels::ResidualAdd{
                {}, t.random(rows, columns), t.unwritten(rows, columns), dropout_of(t, rows, 0.5, 0)};
        });
        expect_same_on_gpu([&](GpuOperands& t) {
            return kernels::ResidualAdd{{}, t.random(rows, columns), t.unwritten(rows, columns)};
        });
    });
}

TEST(GpuBackend, MatchesReferenceForDropoutBackward) {
    for_each_gpu_shape([](std::size_t rows, std::size_t columns) {
        for (const double rate : {0.0, 0.375}) {
            expect_same_on_gpu([&](GpuOperands& t) {
                return kernels::DropoutBackward{t.random(rows, columns), t.unwritten(rows, columns),
                                                dropout_of(t, rows, rate, 4)};
            });
        }
    });
}

TEST(GpuBackend, ComputesResidualAddAndDropoutBackwardInPlace) {
    expect_same_on_gpu([](GpuOperands& t) {
        const device::Tensor both = t.random(9, 16);
        return kernels::ResidualAdd{both, t.random(9, 16), both, dropout_of(t, 9, 0.25, 0)};
    });
    expect_same_on_gpu([](GpuOperands& t) {
        const device::Tensor both = t.random(9, 16);
        return kernels::ResidualAdd{t.random(9, 16), both, both, dropout_of(t, 9, 0.25, 0)};
    });
    expect_same_on_gpu([](GpuOperands& t) {
        const device::Tensor both = t.random(9, 16);
        return kernels::DropoutBackward{both, both, dropout_of(t, 9, 0.25, 0)};
    });
}

// Column slices like those of tensor ranks, including some that do not allow vectors.
TEST(GpuBackend, MatchesReferenceForDropoutOnColumnSlices) {
    for (const std::size_t cut : {4, 6, 9, 16}) {
        SCOPED_TRACE(cut);
        expect_same_on_gpu([&](GpuOperands& t) {
            return kernels::ResidualAdd{{},
                                        t.random(20, 32).column_range(cut, 16),
                                        t.unwritten(20, 32).column_range(cut, 16),
                                        dropout_of(t, 20, 0.5, cut)};
        });
    }
}

// Extreme samples, positions, channels and rates.
TEST(GpuBackend, MatchesReferenceForExtremeDropoutParameters) {
    for (const double rate : {0x1p-32, 1 - 0x1p-33}) {
        expect_same_on_gpu([&](GpuOperands& t) {
            kernels::Dropout dropout = dropout_of(t, 2, rate, (std::size_t{1} << 33) + 8);
            dropout.samples = t.numbers_of(device::DType::i64, 1, 2, {-1, 0x1p62});
            dropout.positions = t.numbers_of(device::DType::i32, 1, 2, {2147483647, 0});
            return kernels::ResidualAdd{t.random(2, 64), t.random(2, 64), t.unwritten(2, 64), dropout};
        });
    }
}

TEST(GpuBackend, AcceptsResidualAddWithoutRowsOrColumns) {
    for (const auto& [rows, columns] : {std::pair{0, 8}, std::pair{3, 0}}) {
        const auto r = static_cast<std::size_t>(rows);
        const auto c = static_cast<std::size_t>(columns);
        expect_same_on_gpu([&](GpuOperands& t) {
            return kernels::ResidualAdd{t.random(r, c), t.random(r, c), t.unwritten(r, c),
                                        dropout_of(t, r, 0.25, 0)};
        });
    }
}

}  // namespace
}  // namespace trireme
