// Scores of attention as the lanes of a warp hold them: element e of part n of row tile r is that of row
// 16 r + 8 (e / 2) + lane / 4 and column 8 n + 2 (lane % 4) + e % 2. Exponentials are powers of two.
#pragma once

#include "kernels/cuda/attention_call.cuh"
#include "kernels/cuda/tensor_tiles.cuh"

namespace trireme::gpu {

inline constexpr float log2_of_e = 1.44269504F;
inline constexpr float log_of_2 = 0.693147181F;

__device__ inline unsigned own_lane() { return threadIdx.x % warp_size; }
__device__ constexpr unsigned row_of(unsigned r, unsigned e, unsigned lane) {
    return 16 * r + e / 2 * 8 + lane / 4;
}
__device__ constexpr unsigned column_of(unsigned n, unsigned e, unsigned lane) {
    return 8 * n + 2 * (lane % 4) + e % 2;
}

// Which weights stay, where rows are queries. Four neighbouring keys have their random words from one block,
// and the two lanes that hold them hold two rows of them: each draws for one row and tells the other.
template <unsigned N>
struct KeptOfQueries {
    static_assert(N <= 64);
    unsigned of_rows[2];  // four bits for each part of 8 columns

    __device__ KeptOfQueries(const AttentionCall<float>& call, const AttentionTile& tile, unsigned head,
                             unsigned query, unsigned key) {
        const unsigned lane = own_lane();
        const unsigned own_query = query + lane / 4 + lane % 2 * 8;
        unsigned own = 0;
        for (unsigned n = 0; n < N / 8; ++n)
            own |= call.kept(tile, head, own_query, key / 4 + 2 * n + lane % 4 / 2) << 4 * n;
        const unsigned other = __shfl_xor_sync(all_lanes, own, 1);
        of_rows[0] = lane % 2 == 0 ? own : other;
        of_rows[1] = lane % 2 == 0 ? other : own;
    }
    __device__ bool has(unsigned n, unsigned e) const {
        return (of_rows[e / 2] >> (4 * n + own_lane() % 2 * 2 + e % 2) & 1U) != 0;
    }
};

// Likewise where rows are keys: of four lanes that hold four neighbouring keys each draws for one of the four
// elements that all of them have of a part.
template <unsigned N>
struct KeptOfKeys {
    static_assert(N <= 64);
    unsigned of_elements[4];

    __device__ KeptOfKeys(const AttentionCall<float>& call, const AttentionTile& tile, unsigned head,
                          unsigned key, unsigned query) {
        const unsigned lane = own_lane();
        const unsigned e = lane / 4 % 4;
        const unsigned quad = key / 4 + e / 2 * 2 + lane / 16;
        unsigned own = 0;
        for (unsigned n = 0; n < N / 8; ++n)
            own |= call.kept(tile, head, query + column_of(n, e, lane), quad) << 4 * n;
#pragma unroll
        for (unsigned other = 0; other < 4; ++other)
            of_elements[other] = __shfl_sync(all_lanes, own, static_cast<int>((lane & ~12U) | other << 2));
    }
    __device__ bool has(unsigned n, unsigned e) const {
        return (of_elements[e] >> (4 * n + own_lane() / 4 % 4) & 1U) != 0;
    }
};

// Rows of one head, from the row `begin` of a tile's segment on.
inline __device__ ChunkRows head_rows(const Elements<const Bf16>& matrix, const AttentionTile& tile,
                                      unsigned head, unsigned head_size, unsigned begin, unsigned rows) {
    return {matrix.row(std::size_t{tile.segment} + begin) + std::size_t{head} * head_size, matrix.stride, rows,
            head_size};
}

// Of the segment's rows from `begin` on at most `most`.
__device__ constexpr unsigned rows_from(unsigned begin, unsigned end, unsigned most) {
    return end - begin < most ? end - begin : most;
}

}  // namespace trireme::gpu
