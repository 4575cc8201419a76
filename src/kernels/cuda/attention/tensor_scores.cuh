// Attention scores in the registers of a warp. Element e of part n of row tile r belongs to
// row 16 r + 8 (e / 2) + lane / 4 and column 8 n + 2 (lane % 4) + e % 2. Exponentials are powers of two.
#pragma once

#include "kernels/cuda/attention/attention_call.cuh"
#include "kernels/cuda/attention/tensor_products.cuh"

namespace trireme::kernels::gpu {

inline constexpr float log2_of_e = 1.44269504F;
inline constexpr float log_of_2 = 0.693147181F;

__device__ constexpr unsigned row_of(unsigned r, unsigned e, unsigned lane) {
    return 16 * r + e / 2 * 8 + lane / 4;
}
__device__ constexpr unsigned column_of(unsigned n, unsigned e, unsigned lane) {
    return 8 * n + 2 * (lane % 4) + e % 2;
}

// Mask of a tile whose rows are queries: 16 R queries from `query` on, N keys from `key` on. Every query
// attends to the first key.
template <unsigned R, unsigned N>
struct SeenKeys {
    unsigned query, key, length;
    bool is_causal;

    __device__ bool are_all() const { return key + N <= length && (!is_causal || key + N <= query + 1); }
    __device__ bool are_none() const { return is_causal && key >= query + 16 * R; }
    __device__ bool has(unsigned r, unsigned n, unsigned e) const {
        return column_of(n, e, 0) < own_keys(r, e);
    }

private:
    // Number of keys, from the lane's first column on, that the query of an element attends to.
    __device__ unsigned own_keys(unsigned r, unsigned e) const {
        const unsigned begin = key + column_of(0, 0, own_lane());
        const unsigned after = query + row_of(r, e, own_lane()) + 1;
        const unsigned end = is_causal && after < length ? after : length;
        return begin < end ? end - begin : 0;
    }
};

// Mask of a tile whose rows are keys. Queries beyond the segment are zero rows, so their weights change
// nothing. Keys beyond it produce rows that are not stored.
template <unsigned R, unsigned N>
struct SeeingQueries {
    unsigned key, query;
    bool is_causal;

    __device__ bool are_all() const { return !is_causal || key + 16 * R <= query + 1; }
    __device__ bool are_none() const { return is_causal && key >= query + N; }
    __device__ bool has(unsigned r, unsigned n, unsigned e) const {
        return !is_causal || key + row_of(r, e, own_lane()) <= query + column_of(n, e, own_lane());
    }
};

// Sets masked scores to a value whose weight is zero.
template <template <unsigned, unsigned> class Seen, unsigned R, unsigned N>
__device__ void mask(const Seen<R, N>& seen, float (&scores)[R][N / 8][4]) {
    if (seen.are_all()) return;
#pragma unroll
    for (unsigned r = 0; r < R; ++r)
#pragma unroll
        for (unsigned n = 0; n < N / 8; ++n)
#pragma unroll
            for (unsigned e = 0; e < 4; ++e)
                if (!seen.has(r, n, e)) scores[r][n][e] = std::numeric_limits<float>::lowest();
}

// Dropout mask of a tile whose rows are queries. Four adjacent keys share one random block, and two lanes hold
// these keys for the same two rows. Each lane draws for one row and passes the result to the other.
template <unsigned N>
struct KeptOfQueries {
    static_assert(N <= 64);
    unsigned of_rows[2];  // four bits per part of 8 columns

    __device__ KeptOfQueries(const AttentionCall<float>& call, const AttentionTile& tile, unsigned head,
                             unsigned query, unsigned key) {
        const unsigned lane = own_lane();
        const unsigned own_query = query + lane / 4 + lane % 2 * 8;
        unsigned own = 0;
#pragma unroll 4
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

// Dropout mask of a tile whose rows are keys. Four lanes hold four adjacent keys; each draws for one of the
// four elements that they have of a part.
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
#pragma unroll 4
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

// The mask without dropout.
struct AllKept {
    __device__ AllKept(const AttentionCall<float>&, const AttentionTile&, unsigned, unsigned, unsigned) {}
    __device__ static constexpr bool has(unsigned, unsigned) { return true; }
};

// Loop position of a block of keys: it visits the tiles of the queries [begin, length), head by head.
struct QueryTurn {
    unsigned head, query;

    __device__ constexpr void advance(unsigned queries, unsigned begin, unsigned length) {
        query += queries;
        if (query < length) return;
        query = begin;
        ++head;
    }
};

// Returns rows [begin, end) of one head, counted from the first row of the tile's segment.
inline __device__ ChunkRows head_rows(const device::Elements<const device::Bf16>& matrix,
                                      const AttentionTile& tile, unsigned head, unsigned head_size,
                                      unsigned begin, unsigned end) {
    return {matrix.row(std::size_t{tile.segment} + begin) + std::size_t{head} * head_size,
            static_cast<std::uint32_t>(matrix.stride), end - begin, head_size};
}

}  // namespace trireme::kernels::gpu
