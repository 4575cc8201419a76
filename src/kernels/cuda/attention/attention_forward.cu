// Computes the softmax over one tile of keys at a time and rescales when a larger score occurs. (Milakov and
// Gimelshein, 2018; Dao et al., 2022) A head with more columns than a block has sums uses several blocks, each
// of which computes all scores.
#include "kernels/cuda/attention/attention_call.cuh"
#include "kernels/cuda/attention/attention_paths.hpp"
#include "kernels/cuda/attention/attention_products.cuh"

namespace trireme::kernels::gpu {
namespace {

template <class T>
struct Forward {
    AttentionCall<Wide<T>> call;
    const AttentionTile* tiles;
    device::Elements<const T> query, key, value;
    device::Elements<T> output;
    device::Elements<Wide<T>> log_sum;
};

// Softmax state of the four queries of a thread.
template <class W>
struct Softmax {
    W largest[4];
    W sum[4];
};

template <class W>
__device__ W largest_of_half_warp(W value) {
    for (int distance = 8; distance > 0; distance /= 2) {
        const W other = __shfl_xor_sync(all_lanes, value, distance);
        value = value < other ? other : value;
    }
    return value;
}

template <class W>
__device__ W sum_of_half_warp(W value) {
    for (int distance = 8; distance > 0; distance /= 2) value += __shfl_xor_sync(all_lanes, value, distance);
    return value;
}

template <class W>
__device__ void mask(const AttentionCall<W>& call, const AttentionTile& tile, unsigned key_begin,
                     W (&scores)[4][4]) {
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) {
        const unsigned query = tile.begin + 4 * (threadIdx.x / 16) + i;
#pragma unroll
        for (unsigned j = 0; j < 4; ++j) {
            const unsigned key = key_begin + 4 * (threadIdx.x % 16) + j;
            const bool is_seen = key < tile.length && (!call.is_causal || key <= query);
            scores[i][j] = is_seen ? call.scale * scores[i][j] : std::numeric_limits<W>::lowest();
        }
    }
}

// Replaces scores by weights relative to the largest score so far, and rescales the sums. Every query attends
// to the first key, so the largest score is never a masked one.
template <class W, unsigned columns>
__device__ void weigh(Softmax<W>& softmax, W (&scores)[4][4], W (&sums)[4][columns]) {
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) {
        W largest = softmax.largest[i];
        for (const W score : scores[i]) largest = largest < score ? score : largest;
        largest = largest_of_half_warp(largest);
        const W rescale = exponential(softmax.largest[i] - largest);
        W sum = 0;
        for (W& score : scores[i]) {
            score = exponential(score - largest);
            sum += score;
        }
        softmax.largest[i] = largest;
        softmax.sum[i] = softmax.sum[i] * rescale + sum_of_half_warp(sum);
        for (W& one : sums[i]) one *= rescale;
    }
}

template <class W>
__device__ void drop(const AttentionCall<W>& call, const AttentionTile& tile, unsigned head, unsigned key_begin,
                     W (&weights)[4][4]) {
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) {
        const unsigned query = tile.begin + 4 * (threadIdx.x / 16) + i;
        const unsigned kept = call.kept(tile, head, query, key_begin / 4 + threadIdx.x % 16);
#pragma unroll
        for (unsigned j = 0; j < 4; ++j) weights[i][j] *= (kept >> j & 1U) != 0 ? call.kept_factor : W{0};
    }
}

template <class T, unsigned vectors>
__global__ void __launch_bounds__(tile_threads) attend(Forward<T> op) {
    using W = Wide<T>;
    const AttentionCall<W>& call = op.call;
    const AttentionTile tile = op.tiles[blockIdx.x / call.heads];
    const unsigned head = blockIdx.x % call.heads;
    const unsigned chunk = blockIdx.y * vectors * tile_side;
    const std::size_t own = std::size_t{head} * call.head_size;
    const std::size_t shared = std::size_t{head / call.sharing} * call.head_size;
    W* const slices = shared_memory<W>();
    W* const weights = slices + 2 * slice_elements;
    const TileRows<T> query{op.query.row(tile.first_row()) + own, op.query.stride, tile.rows, call.head_size};
    Softmax<W> softmax{};
    for (W& largest : softmax.largest) largest = std::numeric_limits<W>::lowest();
    W sums[4][4 * vectors] = {};
    const unsigned end = seen_keys(tile, call.is_causal);
    for (unsigned begin = 0; begin < end; begin += tile_side) {
        const unsigned keys = end - begin < tile_side ? end - begin : tile_side;
        const std::size_t row = std::size_t{tile.segment} + begin;
        const TileRows<T> key{op.key.row(row) + shared, op.key.stride, keys, call.head_size};
        const TileRows<T> value{op.value.row(row) + shared, op.value.stride, keys, call.head_size};
        W scores[4][4] = {};
        multiply_rows(query, key, slices, scores);
        mask(call, tile, begin, scores);
        weigh(softmax, scores, sums);
        if (call.drops) drop(call, tile, head, begin, scores);
        store_weights(scores, weights);
        add_weighted<T, vectors>(weights, value.column_range(chunk, vectors * tile_side), slices, sums);
    }
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) {
        const bool is_padding = tile.length == 0;
        const unsigned r = 4 * (threadIdx.x / 16) + i;
        for (W& sum : sums[i]) sum = is_padding ? W{0} : sum / softmax.sum[i];
        if (chunk > 0 || threadIdx.x % 16 != 0 || r >= tile.rows) continue;
        op.log_sum(tile.first_row() + r, head) =
            is_padding ? W{0} : softmax.largest[i] + logarithm(softmax.sum[i]);
    }
    store_sums<T, vectors>(sums, tile.rows, query.column_range(chunk, vectors * tile_side).columns,
                           [&](unsigned r) { return op.output.row(tile.first_row() + r) + own + chunk; });
}

template <class T, unsigned vectors>
void start_forward(device::CudaStream& stream, const Attention& op) {
    const TileList list = tell_tiles(stream, op.shape, op.query.rows, tile_side, TileOf::queries);
    const Forward<T> forward{.call = call_of<Wide<T>>(op.shape, op.query.columns),
                             .tiles = list.tiles,
                             .query = elements<T>(op.query),
                             .key = elements<T>(op.key),
                             .value = elements<T>(op.value),
                             .output = elements<T>(op.output),
                             .log_sum = elements<Wide<T>>(op.log_sum)};
    start(stream, plain_grid<Wide<T>, vectors>(list.count * forward.call.heads, forward.call.head_size),
          attend<T, vectors>, forward);
}

}  // namespace

void attend_plainly(device::CudaStream& stream, const Attention& op) {
    visit_type(op.query.dtype, [&]<class T>(T) {
        if (op.query.columns / op.shape.heads <= tile_side) return start_forward<T, 1>(stream, op);
        start_forward<T, 2>(stream, op);
    });
}

}  // namespace trireme::kernels::gpu
