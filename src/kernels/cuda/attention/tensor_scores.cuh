// Attention scores in the registers of a warp: scores[r][n][e] is element e of column tile n (8 columns) of row
// tile r (16 rows), in
//   row 16 r + 8 (e / 2) + lane / 4        column 8 n + 2 (lane % 4) + e % 2
// Exponentials are computed as powers of two.
#pragma once

#include "kernels/cuda/attention/attention_call.cuh"
#include "kernels/cuda/attention/tensor_matmuls.cuh"

namespace trireme::kernels::gpu {

inline constexpr float log2_of_e = 1.44269504F;

__device__ constexpr unsigned find_row(unsigned r, unsigned e, unsigned lane) {
    return 16 * r + e / 2 * 8 + lane / 4;
}
__device__ constexpr unsigned find_column(unsigned n, unsigned e, unsigned lane) {
    return 8 * n + 2 * (lane % 4) + e % 2;
}

// Causal and segment mask of scores whose rows are queries: 16 R queries from `query` on, N keys from `key` on.
// Queries and keys are counted from the segment's begin; `length` is the number of rows of the segment. Every
// query attends to the segment's first key, so a query's largest score always belongs to a visible key.
template <unsigned R, unsigned N>
struct QueryRowMask {
    unsigned query, key, length;
    bool is_causal;

    __device__ bool is_fully_visible() const {
        return key + N <= length && (!is_causal || key + N <= query + 1);
    }
    __device__ bool is_fully_masked() const { return is_causal && key >= query + 16 * R; }
    __device__ bool is_visible(unsigned r, unsigned n, unsigned e) const {
        return find_column(n, e, 0) < count_lane_keys(r, e);
    }

private:
    // Returns the number of keys, from the lane's first column on, that the query of element e attends to.
    __device__ unsigned count_lane_keys(unsigned r, unsigned e) const {
        const unsigned begin = key + find_column(0, 0, lane_index());
        const unsigned causal_end = query + find_row(r, e, lane_index()) + 1;
        const unsigned end = is_causal && causal_end < length ? causal_end : length;
        return begin < end ? end - begin : 0;
    }
};

// Causal mask of scores whose rows are keys: 16 R keys from `key` on, N queries from `query` on. The end of the
// segment needs no mask. Queries after the segment are zero rows; gradients of keys after it are not stored.
template <unsigned R, unsigned N>
struct KeyRowMask {
    unsigned key, query;
    bool is_causal;

    __device__ bool is_fully_visible() const { return !is_causal || key + 16 * R <= query + 1; }
    __device__ bool is_fully_masked() const { return is_causal && key >= query + N; }
    __device__ bool is_visible(unsigned r, unsigned n, unsigned e) const {
        return !is_causal || key + find_row(r, e, lane_index()) <= query + find_column(n, e, lane_index());
    }
};

// Sets masked scores to a value whose weight is zero.
template <template <unsigned, unsigned> class Mask, unsigned R, unsigned N>
__device__ void mask_scores(const Mask<R, N>& mask, float (&scores)[R][N / 8][4]) {
    if (mask.is_fully_visible()) return;
#pragma unroll
    for (unsigned r = 0; r < R; ++r)
#pragma unroll
        for (unsigned n = 0; n < N / 8; ++n)
#pragma unroll
            for (unsigned e = 0; e < 4; ++e)
                if (!mask.is_visible(r, n, e)) scores[r][n][e] = std::numeric_limits<float>::lowest();
}

// Dropout mask of scores whose rows are queries. Four adjacent keys share one random block, and two lanes hold
// these keys for the same two rows. Each lane draws one row's block and passes the result to the other lane.
template <unsigned N>
struct QueryRowDropout {
    static_assert(N <= 64);
    unsigned row_bits[2];  // for each of the lane's two rows: four bits per column tile

    __device__ QueryRowDropout(const AttentionCall<float>& call, const AttentionTile& tile, unsigned head,
                               unsigned query, unsigned key) {
        const unsigned lane = lane_index();
        const unsigned own_query = query + lane / 4 + lane % 2 * 8;
        unsigned own_bits = 0;
#pragma unroll 4
        for (unsigned n = 0; n < N / 8; ++n)
            own_bits |= call.make_keep_mask(tile, head, own_query, key / 4 + 2 * n + lane % 4 / 2) << 4 * n;
        const unsigned other_bits = __shfl_xor_sync(all_lanes, own_bits, 1);
        row_bits[0] = lane % 2 == 0 ? own_bits : other_bits;
        row_bits[1] = lane % 2 == 0 ? other_bits : own_bits;
    }
    __device__ bool is_kept(unsigned n, unsigned e) const {
        return (row_bits[e / 2] >> (4 * n + lane_index() % 2 * 2 + e % 2) & 1U) != 0;
    }
};

// Dropout mask of scores whose rows are keys. Four lanes hold four adjacent keys, which share one random block.
// A lane has four elements per column tile. Each lane draws the blocks of one element e for all four lanes.
template <unsigned N>
struct KeyRowDropout {
    static_assert(N <= 64);
    unsigned element_bits[4];  // for each element e: four bits per column tile

    __device__ KeyRowDropout(const AttentionCall<float>& call, const AttentionTile& tile, unsigned head,
                             unsigned key, unsigned query) {
        const unsigned lane = lane_index();
        const unsigned e = lane / 4 % 4;
        const unsigned quad = key / 4 + e / 2 * 2 + lane / 16;  // keys 4 quad to 4 quad + 3
        unsigned own_bits = 0;
#pragma unroll 4
        for (unsigned n = 0; n < N / 8; ++n)
            own_bits |= call.make_keep_mask(tile, head, query + find_column(n, e, lane), quad) << 4 * n;
#pragma unroll
        for (unsigned source = 0; source < 4; ++source)
            element_bits[source] =
                __shfl_sync(all_lanes, own_bits, static_cast<int>((lane & ~12U) | source << 2));
    }
    __device__ bool is_kept(unsigned n, unsigned e) const {
        return (element_bits[e] >> (4 * n + lane_index() / 4 % 4) & 1U) != 0;
    }
};

// The dropout mask of a model without dropout: it keeps all weights.
struct NoDropout {
    __device__ NoDropout(const AttentionCall<float>&, const AttentionTile&, unsigned, unsigned, unsigned) {}
    __device__ static constexpr bool is_kept(unsigned, unsigned) { return true; }
};

// Position in the loop of a block of threads over the tiles of the queries [begin, length), head by head.
struct QueryLoop {
    unsigned head, query;

    __device__ constexpr void advance(unsigned queries, unsigned begin, unsigned length) {
        query += queries;
        if (query < length) return;
        query = begin;
        ++head;
    }
};

// Returns rows [begin, end) of one head; the rows are counted from the first row of the tile's segment.
inline __device__ ChunkRows get_head_rows(const device::Elements<const device::Bf16>& matrix,
                                          const AttentionTile& tile, unsigned head, unsigned head_size,
                                          unsigned begin, unsigned end) {
    return {matrix.row(std::size_t{tile.segment_begin} + begin) + std::size_t{head} * head_size,
            static_cast<std::uint32_t>(matrix.stride), end - begin, head_size};
}

}  // namespace trireme::kernels::gpu
