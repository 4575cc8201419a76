// Parameters of all attention kernels, their work lists, and, for the backward pass, statistics of each query.
#pragma once

#include "kernels/cuda/attention/attention_tiles.hpp"
#include "kernels/cuda/support/language.cuh"
#include "trireme/kernels/dropout.hpp"

namespace trireme::kernels::gpu {

// AttentionShape in the form in which kernels use it. W is the type of sums.
template <class W>
struct AttentionCall {
    unsigned heads;
    unsigned heads_per_kv_head;  // query heads per key-value head
    unsigned head_size;          // channels per head
    W scale;
    bool is_causal;
    bool has_dropout;
    std::uint32_t drop_threshold;  // a weight is dropped if its random word is below the threshold
    W dropout_scale;               // 1 / (1 - rate)
    unsigned first_head;           // global index of this rank's head 0

    // Returns a mask whose bit i is set if dropout keeps the weight of query `query` and key 4 * quad + i.
    // Queries and keys are counted from the segment's begin.
    __device__ unsigned make_keep_mask(const AttentionTile& tile, unsigned head, unsigned query,
                                       unsigned quad) const {
        const RandomBlock words = random_block(tile.get_random_key(), {quad, query, first_head + head, 1});
        unsigned bits = 0;
        for (unsigned i = 0; i < 4; ++i) bits |= (words[i] >= drop_threshold ? 1U : 0U) << i;
        return bits;
    }
};

// `columns` is the number of columns of the query tensor.
template <class W>
AttentionCall<W> make_attention_call(const AttentionShape& shape, std::size_t columns) {
    const double rate = shape.dropout.rate;
    return {.heads = static_cast<unsigned>(shape.heads),
            .heads_per_kv_head = static_cast<unsigned>(shape.heads / shape.key_value_heads),
            .head_size = static_cast<unsigned>(columns / shape.heads),
            .scale = static_cast<W>(shape.scale),
            .is_causal = shape.is_causal,
            .has_dropout = shape.dropout.is_on(),
            .drop_threshold = static_cast<std::uint32_t>(compute_drop_threshold(rate)),
            .dropout_scale = static_cast<W>(1 / (1 - rate)),
            .first_head = static_cast<unsigned>(shape.dropout.first_head)};
}

// A list of tiles in GPU memory. Along x, the grid of a kernel has one block per tile and head. The blocks of a
// tile are consecutive.
struct TileList {
    const AttentionTile* tiles = nullptr;
    unsigned count = 0;
};

inline TileList upload_tiles(device::CudaStream& stream, const AttentionShape& shape, std::size_t rows,
                             std::uint32_t tile_rows, TileKind kind) {
    const std::vector<AttentionTile> tiles = make_attention_tiles(shape, rows, tile_rows, kind);
    if (tiles.empty()) return {};
    return {stream.work->upload(std::span<const AttentionTile>(tiles)), static_cast<unsigned>(tiles.size())};
}

__device__ inline float exponential(float x) { return expf(x); }
__device__ inline double exponential(double x) { return exp(x); }
__device__ inline float logarithm(float x) { return logf(x); }
__device__ inline double logarithm(double x) { return log(x); }

// Statistics of one query of one head for the backward pass.
template <class W>
struct alignas(2 * sizeof(W)) QueryStatistics {
    W log_sum;  // log(sum exp(scores)), times the log_factor of compute_query_statistics()
    W delta;    // grad_output . output
};

// Returns the statistics of all queries, (heads, rows), in the stream's scratch memory. log_sum is multiplied
// by `log_factor`, which is log2(e) for kernels that compute weights as powers of two, and 1 for other kernels.
template <class T>
const QueryStatistics<Accumulator<T>>* compute_query_statistics(device::CudaStream& stream,
                                                                const AttentionBackward& op,
                                                                Accumulator<T> log_factor);

}  // namespace trireme::kernels::gpu
