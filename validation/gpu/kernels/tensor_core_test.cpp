// Compares tensor-core fragments with plain scores, in a kernel of one warp.
#include "gpu_comparison.hpp"
#include "kernels/cuda/attention/tensor_matmuls.cuh"

namespace trireme::kernels::gpu {
namespace {

constexpr unsigned D = 64;  // columns of a tile
constexpr unsigned R = 2;   // row tiles per warp
constexpr unsigned N = 32;  // rows of the right factor

// Whole numbers have exact sums.
std::vector<double> whole(std::size_t size, std::uint64_t name) {
    std::vector<double> numbers(size);
    for (std::size_t i = 0; i < size; ++i)
        numbers[i] = static_cast<double>(random_block(RandomKey{name}, i)[0] % 7) - 3;
    return numbers;
}

struct Factors {
    device::Elements<const device::Bf16> left;   // (rows, columns)
    device::Elements<const device::Bf16> right;  // (N, columns)
    device::Elements<device::Bf16> result;       // (rows, columns)
};

ChunkRows chunks_of(const device::Elements<const device::Bf16>& matrix) {
    return {matrix.data, static_cast<std::uint32_t>(matrix.stride), static_cast<unsigned>(matrix.rows),
            static_cast<unsigned>(matrix.columns)};
}

// result = left right^T right
template <class Left>
void multiply_twice(const Factors& op) {
    constexpr unsigned rows = 16 * R * tensor_warps;
    device::Bf16* const left = shared_memory<device::Bf16>();
    device::Bf16* const right = left + rows * D;
    const unsigned row = 16 * R * (threadIdx.x / warp_size);
    float sums[R][D / 8][4] = {};
    Left own(left, row);
    load_tile<D, rows>(chunks_of(op.left), left);
    run_double_buffered(
        1, [&](unsigned, unsigned) { load_tile<D, N>(chunks_of(op.right), right); }, [&] { own.load(); },
        [&](unsigned, unsigned) {
            float scores[R][N / 8][4] = {};
            multiply_tiles<D, R, N>(own, right, scores);
            add_weighted_tile<D, R, N>(scores, right, sums);
        });
    store_tile<D, R>(
        sums, [](unsigned, unsigned) { return 0.5F; }, left, row, op.result.data, op.result.stride,
        static_cast<unsigned>(op.result.rows), static_cast<unsigned>(op.result.columns));
}

template <class Left>
void expect_matmuls(std::size_t rows, std::size_t right_rows, std::size_t columns) {
    device::Stream stream = kernels::make_gpu_stream();
    device::CudaStream& own = std::get<device::CudaStream>(stream.backend);
    GpuOperands t = GpuOperands::of_gpu(stream, device::DType::bf16, 8);
    const std::vector<double> left = whole(rows * columns, 1);
    const std::vector<double> right = whole(right_rows * columns, 2);
    const Factors op{get_elements<device::Bf16>(device::ConstTensor(t.numbers(rows, columns, left))),
                     get_elements<device::Bf16>(device::ConstTensor(t.numbers(right_rows, columns, right))),
                     get_elements<device::Bf16>(t.unwritten(rows, columns))};
    launch_kernel(
        own, {.threads = tensor_threads, .shared_bytes = (64 * R + N) * D * sizeof(device::Bf16)},
        +[](Factors factors) { multiply_twice<Left>(factors); }, op);

    const std::vector<double> result = kernels::values(t.results()[2]);
    for (std::size_t r = 0; r < rows; ++r) {
        std::vector<double> sums(columns);
        for (std::size_t n = 0; n < right_rows; ++n) {
            double dot = 0;
            for (std::size_t c = 0; c < columns; ++c) dot += left[r * columns + c] * right[n * columns + c];
            const double weight = static_cast<double>(device::Bf16(static_cast<float>(dot)));
            for (std::size_t c = 0; c < columns; ++c) sums[c] += weight * right[n * columns + c];
        }
        for (std::size_t c = 0; c < columns; ++c) {
            const device::Bf16 expected(static_cast<float>(0.5 * sums[c]));
            ASSERT_EQ(result[r * columns + c], static_cast<double>(expected))
                << "row " << r << ", column " << c;
        }
    }
    EXPECT_TRUE(t.has_clean_gaps());
}

TEST(TensorCores, MultiplyFullTiles) { expect_matmuls<LeftInTile<D>>(64 * R, N, D); }
TEST(TensorCores, MultiplyFactorsInRegisters) { expect_matmuls<LeftInRegisters<D, R>>(64 * R, N, D); }
TEST(TensorCores, MultiplyPartialTilesPaddedWithZeros) { expect_matmuls<LeftInTile<D>>(45, 13, 24); }

TEST(TensorCores, PlaceChunksOfEightRowsInDifferentBanks) {
    for (unsigned chunk = 0; chunk < D / 8; ++chunk) {
        std::vector<unsigned> banks;
        for (unsigned row = 8; row < 16; ++row) banks.push_back(swizzled_offset<D>(row, chunk) / 8 % 8);
        std::ranges::sort(banks);
        EXPECT_EQ(banks, (std::vector<unsigned>{0, 1, 2, 3, 4, 5, 6, 7}));
    }
}

template <unsigned columns>
void expect_offsets_by_exclusive_or() {
    for (unsigned row = 0; row < 32; ++row) {
        for (unsigned chunk = 0; chunk < 2; ++chunk) {
            for (unsigned k = 0; k < columns / 16; ++k) {
                EXPECT_EQ(swizzled_offset<columns>(row + 48, chunk + 2 * k),
                          (swizzled_offset<columns>(row, chunk) ^ 16 * k) + 48 * columns);
            }
        }
    }
}

TEST(TensorCores, ComputeFurtherOffsetsByExclusiveOr) {
    expect_offsets_by_exclusive_or<64>();
    expect_offsets_by_exclusive_or<128>();
}

// Matrices 0 to 3 of a left factor begin at rows 0 and 8, then at the same rows of the next columns. For a
// right factor, columns come first.
TEST(TensorCores, ComputeTheRowOffsetOfEachLane) {
    for (unsigned lane = 0; lane < 32; ++lane) {
        const unsigned row = lane % 8;
        const bool is_odd = lane / 8 % 2 == 1;
        const bool is_high = lane / 16 == 1;
        EXPECT_EQ(left_offset<D>(32, lane), swizzled_offset<D>(32 + row + (is_odd ? 8 : 0), is_high ? 1 : 0));
        EXPECT_EQ(right_offset<D>(lane), swizzled_offset<D>(row + (is_high ? 8 : 0), is_odd ? 1 : 0));
    }
}

// Loads matrices whose elements encode their row and column, and compares the words. (PTX ISA, "ldmatrix")
TEST(TensorCores, LoadMatricesInTheLaneLayoutOfLdmatrix) {
    struct Loaded {
        unsigned plain[4], transposed[4];
    };
    static std::array<Loaded, 32> lanes;
    device::Stream stream = kernels::make_gpu_stream();
    device::CudaStream& own = std::get<device::CudaStream>(stream.backend);
    launch_kernel(
        own, {.threads = 32, .shared_bytes = 32 * 8 * sizeof(device::Bf16)},
        +[](int) {
            device::Bf16* const matrices = shared_memory<device::Bf16>();
            const unsigned lane = threadIdx.x;
            for (unsigned c = 0; c < 8; ++c)
                matrices[8 * lane + c].bits = static_cast<std::uint16_t>(100 * lane + c);
            __syncwarp();
            const Matrices plain = load_matrices(matrices + 8 * lane);
            const Matrices transposed = load_transposed_matrices(matrices + 8 * lane);
            for (unsigned m = 0; m < 4; ++m) {
                lanes[lane].plain[m] = plain.registers[m];
                lanes[lane].transposed[m] = transposed.registers[m];
            }
        },
        0);
    own.work->queue().wait();

    for (unsigned lane = 0; lane < 32; ++lane) {
        for (unsigned m = 0; m < 4; ++m) {
            const unsigned first = 800 * m + 100 * (lane / 4) + 2 * (lane % 4);
            const unsigned column = 800 * m + 200 * (lane % 4) + lane / 4;
            EXPECT_EQ(lanes[lane].plain[m], first | (first + 1) << 16);
            EXPECT_EQ(lanes[lane].transposed[m], column | (column + 100) << 16);
        }
    }
}

}  // namespace
}  // namespace trireme::kernels::gpu
