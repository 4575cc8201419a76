// Parameters of all attention kernels, and the values per query that the backward pass needs first.
#pragma once

#include "kernels/cuda/attention/attention_tiles.hpp"
#include "kernels/cuda/support/language.cuh"
#include "trireme/kernels/dropout.hpp"

namespace trireme::kernels::gpu {

template <class W>
struct AttentionCall {
    unsigned heads;
    unsigned sharing;    // query heads per key-value head
    unsigned head_size;  // channels
    W scale;
    bool is_causal;
    bool drops;
    std::uint32_t threshold;  // a weight is dropped if its random word is below this
    W kept_factor;            // 1 / (1 - rate)
    unsigned first_head;      // global index of head 0

    // Returns a mask whose bit i is set if the weight of key 4 * quad + i is kept.
    __device__ unsigned kept(const AttentionTile& tile, unsigned head, unsigned query, unsigned quad) const {
        const RandomBlock words = random_block(tile.key(), {quad, query, first_head + head, 1});
        unsigned bits = 0;
        for (unsigned i = 0; i < 4; ++i) bits |= (words[i] >= threshold ? 1U : 0U) << i;
        return bits;
    }
};

template <class W>
AttentionCall<W> call_of(const AttentionShape& shape, std::size_t columns) {
    const double rate = shape.dropout.rate;
    return {.heads = static_cast<unsigned>(shape.heads),
            .sharing = static_cast<unsigned>(shape.heads / shape.groups),
            .head_size = static_cast<unsigned>(columns / shape.heads),
            .scale = static_cast<W>(shape.scale),
            .is_causal = shape.is_causal,
            .drops = shape.dropout.is_on(),
            .threshold = static_cast<std::uint32_t>(keep_threshold(rate)),
            .kept_factor = static_cast<W>(1 / (1 - rate)),
            .first_head = static_cast<unsigned>(shape.dropout.first_head)};
}

// A list of tiles in GPU memory. A kernel has one block per tile and head; the blocks of a tile are
// consecutive.
struct TileList {
    const AttentionTile* tiles = nullptr;
    unsigned count = 0;
};

inline TileList tell_tiles(device::CudaStream& stream, const AttentionShape& shape, std::size_t rows,
                           std::uint32_t tile_rows, TileOf what) {
    const std::vector<AttentionTile> tiles = attention_tiles(shape, rows, tile_rows, what);
    if (tiles.empty()) return {};
    return {stream.work->tell(std::span<const AttentionTile>(tiles)), static_cast<unsigned>(tiles.size())};
}

__device__ inline float exponential(float x) { return expf(x); }
__device__ inline double exponential(double x) { return exp(x); }
__device__ inline float logarithm(float x) { return logf(x); }
__device__ inline double logarithm(double x) { return log(x); }

// Values of one query of one head for the backward pass.
template <class W>
struct alignas(2 * sizeof(W)) QueryFacts {
    W log_sum;
    W delta;  // grad_output . output
};

// Returns the facts of all queries, (heads, rows), in the stream's scratch memory. log_sum is multiplied by
// `log_factor`.
template <class T>
const QueryFacts<Wide<T>>* find_query_facts(device::CudaStream& stream, const AttentionBackward& op,
                                            Wide<T> log_factor);

}  // namespace trireme::kernels::gpu
