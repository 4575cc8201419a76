// Computes the softmax over one tile of keys at a time. If a tile has a score that is larger than all scores
// before, the earlier sums are rescaled. (Milakov and Gimelshein, 2018; Dao et al., 2022) If a head has more
// columns than a block of threads can sum, several blocks share the columns of the head, and each of these
// blocks computes all scores.
#include "kernels/cuda/attention/attention_call.cuh"
#include "kernels/cuda/attention/attention_matmuls.cuh"
#include "kernels/cuda/attention/attention_paths.hpp"

namespace trireme::kernels::gpu {
namespace {

// Arguments of attend(). The tensors are the fields of Attention.
template <class T>
struct ForwardCall {
    AttentionCall<Accumulator<T>> call;
    const AttentionTile* tiles;
    device::Elements<const T> query, key, value;
    device::Elements<T> output;
    device::Elements<Accumulator<T>> log_sum;
};

// Softmax state of the four queries of a thread.
template <class W>
struct Softmax {
    W largest[4];  // largest score so far
    W sum[4];      // sum of the weights so far, before dropout
};

template <class W>
__device__ W find_half_warp_maximum(W value) {
    for (int distance = 8; distance > 0; distance /= 2) {
        const W other = __shfl_xor_sync(all_lanes, value, distance);
        value = value < other ? other : value;
    }
    return value;
}

template <class W>
__device__ W sum_half_warp(W value) {
    for (int distance = 8; distance > 0; distance /= 2) value += __shfl_xor_sync(all_lanes, value, distance);
    return value;
}

// Scales the scores of visible keys. Sets the scores of masked keys so low that their weights are 0.
template <class W>
__device__ void mask_scores(const AttentionCall<W>& call, const AttentionTile& tile, unsigned key_begin,
                            W (&scores)[4][4]) {
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) {
        const unsigned query = tile.begin + 4 * (threadIdx.x / 16) + i;
#pragma unroll
        for (unsigned j = 0; j < 4; ++j) {
            const unsigned key = key_begin + 4 * (threadIdx.x % 16) + j;
            const bool is_visible = key < tile.segment_length && (!call.is_causal || key <= query);
            scores[i][j] = is_visible ? call.scale * scores[i][j] : std::numeric_limits<W>::lowest();
        }
    }
}

// Replaces scores by weights relative to the largest score so far, and rescales the earlier sums. Every query
// attends to the first key, so the largest score always belongs to a visible key.
template <class W, unsigned columns>
__device__ void weigh(Softmax<W>& softmax, W (&scores)[4][4], W (&sums)[4][columns]) {
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) {
        W largest = softmax.largest[i];
        for (const W score : scores[i]) largest = largest < score ? score : largest;
        largest = find_half_warp_maximum(largest);
        const W rescale = exponential(softmax.largest[i] - largest);
        W sum = 0;
        for (W& score : scores[i]) {
            score = exponential(score - largest);
            sum += score;
        }
        softmax.largest[i] = largest;
        softmax.sum[i] = softmax.sum[i] * rescale + sum_half_warp(sum);
        for (W& output_sum : sums[i]) output_sum *= rescale;
    }
}

template <class W>
__device__ void apply_dropout(const AttentionCall<W>& call, const AttentionTile& tile, unsigned head,
                              unsigned key_begin, W (&weights)[4][4]) {
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) {
        const unsigned query = tile.begin + 4 * (threadIdx.x / 16) + i;
        const unsigned keep_mask = call.make_keep_mask(tile, head, query, key_begin / 4 + threadIdx.x % 16);
#pragma unroll
        for (unsigned j = 0; j < 4; ++j)
            weights[i][j] *= (keep_mask >> j & 1U) != 0 ? call.dropout_scale : W{0};
    }
}

template <class T, unsigned vectors>
__global__ void __launch_bounds__(tile_threads) attend(ForwardCall<T> op) {
    using W = Accumulator<T>;
    const AttentionCall<W>& call = op.call;
    const AttentionTile tile = op.tiles[blockIdx.x / call.heads];
    const unsigned head = blockIdx.x % call.heads;
    const unsigned first_channel = blockIdx.y * vectors * tile_side;
    const std::size_t query_column = std::size_t{head} * call.head_size;
    const std::size_t kv_column = std::size_t{head / call.heads_per_kv_head} * call.head_size;
    W* const slices = shared_memory<W>();
    W* const weights = slices + 2 * slice_elements;
    const TileRows<T> query{op.query.row(tile.first_row()) + query_column, op.query.stride, tile.rows,
                            call.head_size};
    Softmax<W> softmax{};
    for (W& largest : softmax.largest) largest = std::numeric_limits<W>::lowest();
    W sums[4][4 * vectors] = {};
    const unsigned end = count_visible_keys(tile, call.is_causal);
    for (unsigned begin = 0; begin < end; begin += tile_side) {
        const unsigned keys = end - begin < tile_side ? end - begin : tile_side;
        const std::size_t row = std::size_t{tile.segment_begin} + begin;
        const TileRows<T> key{op.key.row(row) + kv_column, op.key.stride, keys, call.head_size};
        const TileRows<T> value{op.value.row(row) + kv_column, op.value.stride, keys, call.head_size};
        W scores[4][4] = {};
        multiply_rows(query, key, slices, scores);
        mask_scores(call, tile, begin, scores);
        weigh(softmax, scores, sums);
        if (call.has_dropout) apply_dropout(call, tile, head, begin, scores);
        store_weights(scores, weights);
        add_weighted<T, vectors>(weights, value.column_range(first_channel, vectors * tile_side), slices, sums);
    }
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) {
        const bool is_padding = tile.segment_length == 0;
        const unsigned r = 4 * (threadIdx.x / 16) + i;
        for (W& sum : sums[i]) sum = is_padding ? W{0} : sum / softmax.sum[i];
        if (first_channel > 0 || threadIdx.x % 16 != 0 || r >= tile.rows) continue;
        op.log_sum(tile.first_row() + r, head) =
            is_padding ? W{0} : softmax.largest[i] + logarithm(softmax.sum[i]);
    }
    store_sums<T, vectors>(
        sums, tile.rows, query.column_range(first_channel, vectors * tile_side).columns,
        [&](unsigned r) { return op.output.row(tile.first_row() + r) + query_column + first_channel; });
}

template <class T, unsigned vectors>
void launch_forward(device::CudaStream& stream, const Attention& op) {
    const TileList list = upload_tiles(stream, op.shape, op.query.rows, tile_side, TileKind::queries);
    const ForwardCall<T> forward{.call = make_attention_call<Accumulator<T>>(op.shape, op.query.columns),
                                 .tiles = list.tiles,
                                 .query = get_elements<T>(op.query),
                                 .key = get_elements<T>(op.key),
                                 .value = get_elements<T>(op.value),
                                 .output = get_elements<T>(op.output),
                                 .log_sum = get_elements<Accumulator<T>>(op.log_sum)};
    launch_kernel(
        stream,
        make_plain_grid<Accumulator<T>, vectors>(list.count * forward.call.heads, forward.call.head_size),
        attend<T, vectors>, forward);
}

}  // namespace

void run_plain_attention(device::CudaStream& stream, const Attention& op) {
    visit_type(op.query.dtype, [&]<class T>(T) {
        if (op.query.columns / op.shape.heads <= tile_side) return launch_forward<T, 1>(stream, op);
        launch_forward<T, 2>(stream, op);
    });
}

}  // namespace trireme::kernels::gpu
