// Attention on tensor cores. A block of threads has 64 R queries of one head (R: see ForwardBlock), and each of
// its four warps has 16 R queries. The block processes one tile of keys and values while the next one is being
// loaded. (Dao, 2023: FlashAttention-2)
#include "kernels/cuda/attention/attention_paths.hpp"
#include "kernels/cuda/attention/tensor_scores.cuh"

namespace trireme::kernels::gpu {
namespace {

// Arguments of attend(). The tensors are the fields of Attention.
struct ForwardCall {
    AttentionCall<float> call;
    const AttentionTile* tiles;
    device::Elements<const device::Bf16> query, key, value;
    device::Elements<device::Bf16> output;
    device::Elements<float> log_sum;
};

// Shared memory of a block of threads: its queries, and two buffers, each of which holds a tile of keys and a
// tile of values. Template parameters of the kernel:
//   D   columns of a tile, at least the head size
//   R   row tiles per warp; a row tile has 16 queries
//   N   keys per tile
template <unsigned D, unsigned R, unsigned N>
struct ForwardBlock {
    static constexpr unsigned rows = 16 * R * tensor_warps;
    static constexpr unsigned buffer_elements = 2 * N * D;
    static constexpr std::size_t shared_bytes = (rows * D + 2 * buffer_elements) * sizeof(device::Bf16);
    using Queries = std::conditional_t<D <= 64, LeftInRegisters<D, R>, LeftInTile<D>>;
};

// Softmax state of a warp's queries. A lane holds some columns of two rows of each row tile. Weights are
// relative to `base`, an unscaled score: weight = exp(scale (score - base)). `sum` adds the weights of the keys
// whose scores the lane holds.
template <unsigned D, unsigned R>
struct Softmax {
    float base[R][2];
    float sum[R][2];
    float outputs[R][D / 8][4];
};

__device__ inline float find_row_maximum(float value) {
    value = fmaxf(value, __shfl_xor_sync(all_lanes, value, 1));
    return fmaxf(value, __shfl_xor_sync(all_lanes, value, 2));
}

__device__ inline float sum_row(float value) {
    value += __shfl_xor_sync(all_lanes, value, 1);
    return value + __shfl_xor_sync(all_lanes, value, 2);
}

// Upper bound of the binary logarithm of a weight relative to `base`. If a logarithm exceeds this bound, the
// base moves and the earlier sums are rescaled, which is rare. Weights between 1 and 2^max_growth lose no
// precision in floating point.
constexpr float max_growth = 8;

// Returns the largest score that the lane holds of one row. The lane holds scores of two rows of row tile r;
// `half` (0 or 1) selects one of these rows.
template <unsigned R, unsigned N>
__device__ float find_lane_maximum(const float (&scores)[R][N / 8][4], unsigned r, unsigned half) {
    float largest = scores[r][0][2 * half];
#pragma unroll
    for (unsigned n = 0; n < N / 8; ++n)
        largest = fmaxf(largest, fmaxf(scores[r][n][2 * half], scores[r][n][2 * half + 1]));
    return largest;
}

// If a row has a score too far above the row's base, moves the base and rescales the row's earlier sums. The
// lanes exchange the largest scores of their rows only if at least one lane has such a score. `factor` converts
// scores to binary logarithms of weights.
template <unsigned D, unsigned R, unsigned N>
__device__ void move_base(float factor, const float (&scores)[R][N / 8][4], Softmax<D, R>& softmax) {
    float largest[R][2];
    bool is_far = false;
#pragma unroll
    for (unsigned r = 0; r < R; ++r) {
#pragma unroll
        for (unsigned half = 0; half < 2; ++half) {
            largest[r][half] = find_lane_maximum<R, N>(scores, r, half);
            is_far = is_far || (largest[r][half] - softmax.base[r][half]) * factor > max_growth;
        }
    }
    if (__ballot_sync(all_lanes, is_far) == 0) return;  // the same branch for the whole warp
#pragma unroll
    for (unsigned r = 0; r < R; ++r) {
        float rescale[2];
#pragma unroll
        for (unsigned half = 0; half < 2; ++half) {
            const float row_maximum = find_row_maximum(largest[r][half]);
            const float growth = (row_maximum - softmax.base[r][half]) * factor;
            rescale[half] = growth > max_growth ? power_of_two(-growth) : 1.0F;
            softmax.base[r][half] = growth > max_growth ? row_maximum : softmax.base[r][half];
            softmax.sum[r][half] *= rescale[half];
        }
#pragma unroll
        for (unsigned n = 0; n < D / 8; ++n)
#pragma unroll
            for (unsigned e = 0; e < 4; ++e) softmax.outputs[r][n][e] *= rescale[e / 2];
    }
}

// Replaces scores by weights and adds the weights to softmax.sum.
template <unsigned D, unsigned R, unsigned N>
__device__ void weigh(float factor, float (&scores)[R][N / 8][4], Softmax<D, R>& softmax) {
#pragma unroll
    for (unsigned r = 0; r < R; ++r) {
        const float base[2] = {softmax.base[r][0] * factor, softmax.base[r][1] * factor};
#pragma unroll
        for (unsigned n = 0; n < N / 8; ++n) {
#pragma unroll
            for (unsigned e = 0; e < 4; ++e) {
                scores[r][n][e] = power_of_two(scores[r][n][e] * factor - base[e / 2]);
                softmax.sum[r][e / 2] += scores[r][n][e];
            }
        }
    }
}

template <unsigned R, unsigned N>
__device__ void apply_dropout(const AttentionCall<float>& call, const AttentionTile& tile, unsigned head,
                              unsigned query, unsigned key, float (&weights)[R][N / 8][4]) {
#pragma unroll
    for (unsigned r = 0; r < R; ++r) {
        const QueryRowDropout<N> dropout_mask(call, tile, head, query + 16 * r, key);
#pragma unroll
        for (unsigned n = 0; n < N / 8; ++n)
#pragma unroll
            for (unsigned e = 0; e < 4; ++e)
                if (!dropout_mask.is_kept(n, e)) weights[r][n][e] = 0;
    }
}

// Stores log_sum of a warp's queries, and replaces softmax.sum by the factor that store_tile() applies
// to each row of softmax.outputs.
template <unsigned D, unsigned R>
__device__ void store_log_sums(const ForwardCall& op, const AttentionTile& tile, unsigned head, unsigned row,
                               Softmax<D, R>& softmax) {
    const bool is_padding = tile.segment_length == 0;
#pragma unroll
    for (unsigned r = 0; r < R; ++r) {
#pragma unroll
        for (unsigned half = 0; half < 2; ++half) {
            const float sum = sum_row(softmax.sum[r][half]);
            const float scaled_base = op.call.scale * softmax.base[r][half];
            const unsigned tile_row = row + find_row(r, 2 * half, lane_index());
            if (lane_index() % 4 == 0 && tile_row < tile.rows)
                op.log_sum(tile.first_row() + tile_row, head) = is_padding ? 0 : scaled_base + logf(sum);
            softmax.sum[r][half] = is_padding ? 0 : op.call.dropout_scale / sum;
        }
    }
}

template <unsigned D, unsigned R, unsigned N, bool has_dropout>
__global__ void __launch_bounds__(tensor_threads) attend(ForwardCall op) {
    using Block = ForwardBlock<D, R, N>;
    const AttentionCall<float>& call = op.call;
    const AttentionTile tile = op.tiles[blockIdx.x / call.heads];
    const unsigned head = blockIdx.x % call.heads;
    const unsigned size = call.head_size;
    const unsigned row = 16 * R * (threadIdx.x / warp_size);  // first row of the warp
    device::Bf16* const queries = shared_memory<device::Bf16>();
    device::Bf16* const buffers = queries + Block::rows * D;
    Softmax<D, R> softmax{};
    for (auto& pair : softmax.base) pair[0] = pair[1] = std::numeric_limits<float>::lowest();
    const unsigned end = count_visible_keys(tile, call.is_causal);
    const ChunkRows all_keys = get_head_rows(op.key, tile, head / call.heads_per_kv_head, size, 0, end);
    const ChunkRows all_values = get_head_rows(op.value, tile, head / call.heads_per_kv_head, size, 0, end);
    typename Block::Queries own_queries(queries, row);
    const auto load = [&](unsigned t, unsigned buffer) {
        device::Bf16* const keys = buffers + buffer * Block::buffer_elements;
        load_tile<D, N>(all_keys.skip_rows(t * N), keys);
        load_tile<D, N>(all_values.skip_rows(t * N), keys + N * D);
    };
    const auto use = [&](unsigned t, unsigned buffer) {
        const QueryRowMask<R, N> mask{tile.begin + row, t * N, tile.segment_length, call.is_causal};
        if (row >= tile.rows || mask.is_fully_masked()) return;
        const device::Bf16* const keys = buffers + buffer * Block::buffer_elements;
        float scores[R][N / 8][4] = {};
        multiply_tiles<D, R, N>(own_queries, keys, scores);
        mask_scores(mask, scores);
        move_base<D, R, N>(call.scale * log2_of_e, scores, softmax);
        weigh<D, R, N>(call.scale * log2_of_e, scores, softmax);
        if constexpr (has_dropout) apply_dropout<R, N>(call, tile, head, mask.query, mask.key, scores);
        add_weighted_tile<D, R, N>(scores, keys + N * D, softmax.outputs);
    };
    load_tile<D, Block::rows>(get_head_rows(op.query, tile, head, size, tile.begin, tile.begin + tile.rows),
                              queries);
    run_double_buffered(
        static_cast<unsigned>(divide_round_up(end, N)), load, [&] { own_queries.load(); }, use);
    store_log_sums(op, tile, head, row, softmax);
    store_tile<D, R>(
        softmax.outputs, [&](unsigned r, unsigned half) { return softmax.sum[r][half]; }, queries, row,
        op.output.row(tile.first_row()) + std::size_t{head} * size, op.output.stride, tile.rows, size);
}

template <unsigned D, unsigned R, unsigned N>
void launch_forward(device::CudaStream& stream, const Attention& op) {
    using Block = ForwardBlock<D, R, N>;
    const TileList list = upload_tiles(stream, op.shape, op.query.rows, Block::rows, TileKind::queries);
    const ForwardCall forward{.call = make_attention_call<float>(op.shape, op.query.columns),
                              .tiles = list.tiles,
                              .query = get_elements<device::Bf16>(op.query),
                              .key = get_elements<device::Bf16>(op.key),
                              .value = get_elements<device::Bf16>(op.value),
                              .output = get_elements<device::Bf16>(op.output),
                              .log_sum = get_elements<float>(op.log_sum)};
    launch_kernel(stream,
                  {.blocks_x = list.count * forward.call.heads,
                   .threads = tensor_threads,
                   .shared_bytes = Block::shared_bytes},
                  forward.call.has_dropout ? attend<D, R, N, true> : attend<D, R, N, false>, forward);
}

}  // namespace

void run_tensor_attention(device::CudaStream& stream, const Attention& op) {
    if (op.query.columns / op.shape.heads <= 64) return launch_forward<64, 2, 64>(stream, op);
    launch_forward<128, 2, 64>(stream, op);
}

}  // namespace trireme::kernels::gpu
