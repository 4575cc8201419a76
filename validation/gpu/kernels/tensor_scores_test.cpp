// Tests which scores a warp treats as visible, against a check of each pair of a query and a key.
#include "kernels/cuda/attention/tensor_scores.cuh"

#include <array>

#include "gpu_comparison.hpp"

namespace trireme::kernels::gpu {
namespace {

constexpr unsigned row_tiles = 2;  // row tiles per warp
constexpr unsigned key_rows = 32;

using Pairs = std::array<std::array<bool, key_rows>, 16 * row_tiles>;  // [row][column]

// Returns has(r, n, e) of every lane as pairs.
template <class Seen>
Pairs list_pairs(const Seen& seen) {
    static Pairs pairs;
    device::Stream stream = kernels::make_gpu_stream();
    device::CudaStream& own = std::get<device::CudaStream>(stream.backend);
    launch_kernel(
        own, {.threads = warp_size},
        +[](Seen mask) {
            for (unsigned r = 0; r < row_tiles; ++r)
                for (unsigned n = 0; n < key_rows / 8; ++n)
                    for (unsigned e = 0; e < 4; ++e)
                        pairs[find_row(r, e, lane_index())][find_column(n, e, lane_index())] =
                            mask.is_visible(r, n, e);
        },
        seen);
    own.work->queue().wait();
    return pairs;
}

// Compares the pairs with is_seen(row, column).
template <class Seen, class IsSeen>
void expect_seen(const Seen& seen, IsSeen&& is_seen) {
    const Pairs pairs = list_pairs(seen);
    unsigned count = 0;
    for (unsigned row = 0; row < 16 * row_tiles; ++row) {
        for (unsigned column = 0; column < key_rows; ++column) {
            ASSERT_EQ(pairs[row][column], is_seen(row, column)) << "row " << row << ", column " << column;
            count += is_seen(row, column) ? 1 : 0;
        }
    }
    EXPECT_EQ(seen.is_fully_visible(), count == 16 * row_tiles * key_rows);
    EXPECT_EQ(seen.is_fully_masked(), count == 0);
}

TEST(TensorScores, IncludeOnlyKeysOfTheSegmentUpToTheQuery) {
    for (const bool is_causal : {true, false}) {
        for (const unsigned length : {65U, 96U, 200U}) {
            for (const unsigned query : {0U, 31U, 32U, 63U, 64U, 96U, 128U}) {
                const unsigned key = 64;
                SCOPED_TRACE(cat("causal ", is_causal, ", length ", length, ", query ", query));
                expect_seen(QueryRowMask<row_tiles, key_rows>{query, key, length, is_causal},
                            [&](unsigned row, unsigned column) {
                                return key + column < length && (!is_causal || key + column <= query + row);
                            });
            }
        }
    }
}

TEST(TensorScores, IncludeOnlyQueriesAtOrAfterTheKey) {
    for (const bool is_causal : {true, false}) {
        for (const unsigned query : {0U, 32U, 33U, 48U, 64U, 94U, 95U, 128U}) {
            const unsigned key = 64;
            SCOPED_TRACE(cat("causal ", is_causal, ", query ", query));
            expect_seen(
                KeyRowMask<row_tiles, key_rows>{key, query, is_causal},
                [&](unsigned row, unsigned column) { return !is_causal || key + row <= query + column; });
        }
    }
}

TEST(TensorScores, VisitTheQueriesHeadByHead) {
    QueryLoop turn{4, 32};
    std::vector<std::pair<unsigned, unsigned>> turns;
    for (unsigned t = 0; t < 6; ++t) {
        turns.emplace_back(turn.head, turn.query);
        turn.advance(32, 32, 97);
    }

    EXPECT_EQ(turns, (std::vector<std::pair<unsigned, unsigned>>{
                         {4, 32}, {4, 64}, {4, 96}, {5, 32}, {5, 64}, {5, 96}}));
}

}  // namespace
}  // namespace trireme::kernels::gpu
