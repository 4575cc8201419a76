// Attention on tensor cores. A block has 64 R queries of one head, each warp 16 R of them. It processes one
// tile of keys and values at a time while the next one is being loaded. (Dao, 2023: FlashAttention-2)
#include "kernels/cuda/attention/attention_paths.hpp"
#include "kernels/cuda/attention/tensor_scores.cuh"

namespace trireme::kernels::gpu {
namespace {

struct Forward {
    AttentionCall<float> call;
    const AttentionTile* tiles;
    device::Elements<const device::Bf16> query, key, value;
    device::Elements<device::Bf16> output;
    device::Elements<float> log_sum;
};

// D: columns of a tile, at least the head size. R: tiles of 16 queries per warp. N: keys per tile.
template <unsigned D, unsigned R, unsigned N>
struct ForwardBlock {
    static constexpr unsigned queries = 16 * R * tensor_warps;
    static constexpr unsigned stage_elements = 2 * N * D;
    static constexpr std::size_t shared_bytes = (queries * D + 2 * stage_elements) * sizeof(device::Bf16);
    using Queries = std::conditional_t<D <= 64, LeftInRegisters<D, R>, LeftInTile<D>>;
};

// Softmax state of a warp's queries. Weights are relative to `base`, an unscaled score. `sum` covers only the
// lane's own columns.
template <unsigned D, unsigned R>
struct Softmax {
    float base[R][2];
    float sum[R][2];
    float outputs[R][D / 8][4];
};

__device__ inline float largest_of_row(float value) {
    value = fmaxf(value, __shfl_xor_sync(all_lanes, value, 1));
    return fmaxf(value, __shfl_xor_sync(all_lanes, value, 2));
}

__device__ inline float sum_of_row(float value) {
    value += __shfl_xor_sync(all_lanes, value, 1);
    return value + __shfl_xor_sync(all_lanes, value, 2);
}

// Largest binary exponent of a weight relative to `base`. Only beyond it is the base moved and are earlier sums
// rescaled. This is rare and costs no precision in floating point.
constexpr float most_growth = 8;

// Returns the largest of a lane's own scores of one row.
template <unsigned R, unsigned N>
__device__ float largest_score(const float (&scores)[R][N / 8][4], unsigned r, unsigned half) {
    float largest = scores[r][0][2 * half];
#pragma unroll
    for (unsigned n = 0; n < N / 8; ++n)
        largest = fmaxf(largest, fmaxf(scores[r][n][2 * half], scores[r][n][2 * half + 1]));
    return largest;
}

// Moves the base of rows whose scores exceed it too far, and rescales their earlier sums. The lanes exchange
// the largest scores of their rows only if some lane has such a score, which is rare.
template <unsigned D, unsigned R, unsigned N>
__device__ void move_base(float factor, const float (&scores)[R][N / 8][4], Softmax<D, R>& softmax) {
    float largest[R][2];
    bool is_far = false;
#pragma unroll
    for (unsigned r = 0; r < R; ++r) {
#pragma unroll
        for (unsigned half = 0; half < 2; ++half) {
            largest[r][half] = largest_score<R, N>(scores, r, half);
            is_far = is_far || (largest[r][half] - softmax.base[r][half]) * factor > most_growth;
        }
    }
    if (__ballot_sync(all_lanes, is_far) == 0) return;  // the same branch for the whole warp
#pragma unroll
    for (unsigned r = 0; r < R; ++r) {
        float rescale[2];
#pragma unroll
        for (unsigned half = 0; half < 2; ++half) {
            const float of_row = largest_of_row(largest[r][half]);
            const float growth = (of_row - softmax.base[r][half]) * factor;
            rescale[half] = growth > most_growth ? power_of_two(-growth) : 1.0F;
            softmax.base[r][half] = growth > most_growth ? of_row : softmax.base[r][half];
            softmax.sum[r][half] *= rescale[half];
        }
#pragma unroll
        for (unsigned n = 0; n < D / 8; ++n)
#pragma unroll
            for (unsigned e = 0; e < 4; ++e) softmax.outputs[r][n][e] *= rescale[e / 2];
    }
}

// Replaces scores by weights and adds them to the sums.
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

// Stores log_sum of a warp's queries and replaces softmax.sum by the factors of the outputs.
template <unsigned D, unsigned R>
__device__ void finish(const Forward& op, const AttentionTile& tile, unsigned head, unsigned row,
                       Softmax<D, R>& softmax) {
    const bool is_padding = tile.length == 0;
#pragma unroll
    for (unsigned r = 0; r < R; ++r) {
#pragma unroll
        for (unsigned half = 0; half < 2; ++half) {
            const float sum = sum_of_row(softmax.sum[r][half]);
            const float scaled = op.call.scale * softmax.base[r][half];
            const unsigned own = row + row_of(r, 2 * half, own_lane());
            if (own_lane() % 4 == 0 && own < tile.rows)
                op.log_sum(tile.first_row() + own, head) = is_padding ? 0 : scaled + logf(sum);
            softmax.sum[r][half] = is_padding ? 0 : op.call.kept_factor / sum;
        }
    }
}

template <unsigned D, unsigned R, unsigned N, bool drops>
__global__ void __launch_bounds__(tensor_threads) attend(Forward op) {
    using Block = ForwardBlock<D, R, N>;
    const AttentionCall<float>& call = op.call;
    const AttentionTile tile = op.tiles[blockIdx.x / call.heads];
    const unsigned head = blockIdx.x % call.heads;
    const unsigned size = call.head_size;
    const unsigned row = 16 * R * (threadIdx.x / warp_size);  // first row of the warp
    device::Bf16* const queries = shared_memory<device::Bf16>();
    device::Bf16* const stages = queries + Block::queries * D;
    Softmax<D, R> softmax{};
    for (auto& pair : softmax.base) pair[0] = pair[1] = std::numeric_limits<float>::lowest();
    const unsigned end = seen_keys(tile, call.is_causal);
    const ChunkRows all_keys = head_rows(op.key, tile, head / call.sharing, size, 0, end);
    const ChunkRows all_values = head_rows(op.value, tile, head / call.sharing, size, 0, end);
    typename Block::Queries own(queries, row);
    const auto load = [&](unsigned t, unsigned stage) {
        device::Bf16* const keys = stages + stage * Block::stage_elements;
        load_tile<D, N>(all_keys.from(t * N), keys);
        load_tile<D, N>(all_values.from(t * N), keys + N * D);
    };
    const auto use = [&](unsigned t, unsigned stage) {
        const SeenKeys<R, N> seen{tile.begin + row, t * N, tile.length, call.is_causal};
        if (row >= tile.rows || seen.are_none()) return;
        const device::Bf16* const keys = stages + stage * Block::stage_elements;
        float scores[R][N / 8][4] = {};
        multiply_tiles<D, R, N>(own, keys, scores);
        mask(seen, scores);
        move_base<D, R, N>(call.scale * log2_of_e, scores, softmax);
        weigh<D, R, N>(call.scale * log2_of_e, scores, softmax);
        if constexpr (drops) drop<R, N>(call, tile, head, seen.query, seen.key, scores);
        add_weighted_tile<D, R, N>(scores, keys + N * D, softmax.outputs);
    };
    load_tile<D, Block::queries>(head_rows(op.query, tile, head, size, tile.begin, tile.begin + tile.rows),
                                 queries);
    use_in_turn(
        static_cast<unsigned>(parts(end, N)), load, [&] { own.load(); }, use);
    finish(op, tile, head, row, softmax);
    store_tile<D, R>(
        softmax.outputs, [&](unsigned r, unsigned half) { return softmax.sum[r][half]; }, queries, row,
        op.output.row(tile.first_row()) + std::size_t{head} * size, op.output.stride, tile.rows, size);
}

template <unsigned D, unsigned R, unsigned N>
void start_forward(device::CudaStream& stream, const Attention& op) {
    using Block = ForwardBlock<D, R, N>;
    const TileList list = tell_tiles(stream, op.shape, op.query.rows, Block::queries, TileOf::queries);
    const Forward forward{.call = call_of<float>(op.shape, op.query.columns),
                          .tiles = list.tiles,
                          .query = elements<device::Bf16>(op.query),
                          .key = elements<device::Bf16>(op.key),
                          .value = elements<device::Bf16>(op.value),
                          .output = elements<device::Bf16>(op.output),
                          .log_sum = elements<float>(op.log_sum)};
    start(stream,
          {.blocks_x = list.count * forward.call.heads,
           .threads = tensor_threads,
           .shared_bytes = Block::shared_bytes},
          forward.call.drops ? attend<D, R, N, true> : attend<D, R, N, false>, forward);
}

}  // namespace

void attend_on_tensor_cores(device::CudaStream& stream, const Attention& op) {
    if (op.query.columns / op.shape.heads <= 64) return start_forward<64, 2, 64>(stream, op);
    start_forward<128, 2, 64>(stream, op);
}

}  // namespace trireme::kernels::gpu
