// Attention on tensor cores: a block has 64 R queries of one head, each warp 16 R of them, and takes one tile
// of keys and values after the other while the next one is on its way. (Dao, 2023: FlashAttention-2)
#include "kernels/cuda/attention_paths.hpp"
#include "kernels/cuda/tensor_scores.cuh"

namespace trireme::gpu {
namespace {

struct Forward {
    AttentionCall<float> call;
    const AttentionTile* tiles;
    Elements<const Bf16> query, key, value;
    Elements<Bf16> output;
    Elements<float> log_sum;
};

// D columns, of which a head may have fewer; R tiles of 16 queries for each warp; N keys a tile.
template <unsigned D, unsigned R, unsigned N>
struct ForwardBlock {
    static constexpr unsigned queries = 16 * R * tensor_warps;
    static constexpr unsigned stage_elements = 2 * N * D;
    static constexpr std::size_t shared_bytes = (queries * D + 2 * stage_elements) * sizeof(Bf16);
};

// Of a warp's queries. `largest` is that of scores before they are scaled; `sum` is a lane's own part.
template <unsigned D, unsigned R>
struct Softmax {
    float largest[R][2];
    float sum[R][2];
    float outputs[R][D / 8][4];
};

// A tile of keys as a warp sees it.
struct SeenKeys {
    unsigned query;  // the warp's first
    unsigned key;    // the tile's first
    unsigned length;
    bool is_causal;

    __device__ bool has(unsigned r, unsigned n, unsigned e) const {
        const unsigned own = key + column_of(n, e, own_lane());
        return own < length && (!is_causal || own <= query + row_of(r, e, own_lane()));
    }
};

template <unsigned R, unsigned N>
__device__ void mask(const SeenKeys& seen, float (&scores)[R][N / 8][4]) {
    const bool is_whole = seen.key + N <= seen.length && (!seen.is_causal || seen.key + N <= seen.query + 1);
    if (is_whole) return;
#pragma unroll
    for (unsigned r = 0; r < R; ++r)
#pragma unroll
        for (unsigned n = 0; n < N / 8; ++n)
#pragma unroll
            for (unsigned e = 0; e < 4; ++e)
                if (!seen.has(r, n, e)) scores[r][n][e] = std::numeric_limits<float>::lowest();
}

__device__ inline float largest_of_row(float value) {
    value = fmaxf(value, __shfl_xor_sync(all_lanes, value, 1));
    return fmaxf(value, __shfl_xor_sync(all_lanes, value, 2));
}

__device__ inline float sum_of_row(float value) {
    value += __shfl_xor_sync(all_lanes, value, 1);
    return value + __shfl_xor_sync(all_lanes, value, 2);
}

// Turns the scores of one row into weights relative to its largest score so far, and what was summed before to
// the same scale. Every query sees the first key, so that a largest score is one that it sees.
template <unsigned D, unsigned R, unsigned N>
__device__ void weigh_row(float factor, unsigned r, unsigned half, float (&scores)[R][N / 8][4],
                          Softmax<D, R>& softmax) {
    float largest = softmax.largest[r][half];
#pragma unroll
    for (unsigned n = 0; n < N / 8; ++n)
        largest = fmaxf(largest, fmaxf(scores[r][n][2 * half], scores[r][n][2 * half + 1]));
    largest = largest_of_row(largest);
    const float rescale = power_of_two((softmax.largest[r][half] - largest) * factor);
    const float base = largest * factor;
    float sum = softmax.sum[r][half] * rescale;
#pragma unroll
    for (unsigned n = 0; n < N / 8; ++n) {
#pragma unroll
        for (unsigned e = 2 * half; e < 2 * half + 2; ++e) {
            scores[r][n][e] = power_of_two(scores[r][n][e] * factor - base);
            sum += scores[r][n][e];
        }
    }
    softmax.largest[r][half] = largest;
    softmax.sum[r][half] = sum;
#pragma unroll
    for (unsigned n = 0; n < D / 8; ++n)
#pragma unroll
        for (unsigned e = 2 * half; e < 2 * half + 2; ++e) softmax.outputs[r][n][e] *= rescale;
}

template <unsigned R, unsigned N>
__device__ void drop(const AttentionCall<float>& call, const AttentionTile& tile, unsigned head, unsigned query,
                     unsigned key, float (&weights)[R][N / 8][4]) {
#pragma unroll
    for (unsigned r = 0; r < R; ++r) {
        const KeptOfQueries<N> kept(call, tile, head, query + 16 * r, key);
#pragma unroll
        for (unsigned n = 0; n < N / 8; ++n)
#pragma unroll
            for (unsigned e = 0; e < 4; ++e)
                if (!kept.has(n, e)) weights[r][n][e] = 0;
    }
}

// Stores a warp's log_sum and replaces its sums by what outputs are multiplied by.
template <unsigned D, unsigned R>
__device__ void finish(const Forward& op, const AttentionTile& tile, unsigned head, unsigned row,
                       Softmax<D, R>& softmax) {
    const bool is_padding = tile.length == 0;
#pragma unroll
    for (unsigned r = 0; r < R; ++r) {
#pragma unroll
        for (unsigned half = 0; half < 2; ++half) {
            const float sum = sum_of_row(softmax.sum[r][half]);
            const float scaled = op.call.scale * softmax.largest[r][half];
            const unsigned own = row + row_of(r, 2 * half, own_lane());
            if (own_lane() % 4 == 0 && own < tile.rows)
                op.log_sum(tile.first_row() + own, head) = is_padding ? 0 : scaled + logf(sum);
            softmax.sum[r][half] = is_padding ? 0 : op.call.kept_factor / sum;
        }
    }
}

template <unsigned D, unsigned R, unsigned N>
__global__ void __launch_bounds__(tensor_threads) attend(Forward op) {
    using Block = ForwardBlock<D, R, N>;
    const AttentionCall<float>& call = op.call;
    const AttentionTile tile = op.tiles[blockIdx.x / call.heads];
    const unsigned head = blockIdx.x % call.heads;
    const unsigned size = call.head_size;
    const unsigned row = 16 * R * (threadIdx.x / warp_size);  // the warp's first
    Bf16* const queries = shared_memory<Bf16>();
    Bf16* const stages = queries + Block::queries * D;
    Softmax<D, R> softmax{};
    for (auto& pair : softmax.largest) pair[0] = pair[1] = std::numeric_limits<float>::lowest();
    const unsigned end = seen_keys(tile, call.is_causal);
    const auto load = [&](unsigned t, unsigned stage) {
        const unsigned rows = rows_from(t * N, end, N);
        Bf16* const keys = stages + stage * Block::stage_elements;
        load_tile<D>(head_rows(op.key, tile, head / call.sharing, size, t * N, rows), N, keys);
        load_tile<D>(head_rows(op.value, tile, head / call.sharing, size, t * N, rows), N, keys + N * D);
    };
    const auto use = [&](unsigned t, unsigned stage) {
        const Bf16* const keys = stages + stage * Block::stage_elements;
        float scores[R][N / 8][4] = {};
        multiply_tiles<D, R, N>(queries, row, keys, scores);
        mask<R, N>({tile.begin + row, t * N, tile.length, call.is_causal}, scores);
#pragma unroll
        for (unsigned r = 0; r < R; ++r)
#pragma unroll
            for (unsigned half = 0; half < 2; ++half)
                weigh_row<D, R, N>(call.scale * log2_of_e, r, half, scores, softmax);
        if (call.drops) drop<R, N>(call, tile, head, tile.begin + row, t * N, scores);
        add_weighted_tile<D, R, N>(scores, keys + N * D, softmax.outputs);
    };
    load_tile<D>(head_rows(op.query, tile, head, size, tile.begin, tile.rows), Block::queries, queries);
    use_in_turn(static_cast<unsigned>(parts(end, N)), load, use);
    finish(op, tile, head, row, softmax);
    store_tile<D, R>(
        softmax.outputs, [&](unsigned r, unsigned half) { return softmax.sum[r][half]; }, queries, row,
        op.output.row(tile.first_row()) + std::size_t{head} * size, op.output.stride, tile.rows, size);
}

template <unsigned D, unsigned R, unsigned N>
void start_forward(CudaStream& stream, const Attention& op) {
    using Block = ForwardBlock<D, R, N>;
    const TileList list = tell_tiles(stream, op.shape, op.query.rows, Block::queries, TileOf::queries);
    const Forward forward{.call = call_of<float>(op.shape, op.query.columns),
                          .tiles = list.tiles,
                          .query = elements<Bf16>(op.query),
                          .key = elements<Bf16>(op.key),
                          .value = elements<Bf16>(op.value),
                          .output = elements<Bf16>(op.output),
                          .log_sum = elements<float>(op.log_sum)};
    start(stream,
          {.blocks_x = list.count * forward.call.heads,
           .threads = tensor_threads,
           .shared_bytes = Block::shared_bytes},
          attend<D, R, N>, forward);
}

}  // namespace

void attend_on_tensor_cores(CudaStream& stream, const Attention& op) {
    if (op.query.columns / op.shape.heads <= 64) return start_forward<64, 2, 64>(stream, op);
    start_forward<128, 2, 64>(stream, op);
}

}  // namespace trireme::gpu
