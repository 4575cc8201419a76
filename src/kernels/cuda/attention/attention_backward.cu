// Recomputes the attention weights from the scores and log_sum, tile by tile. One kernel sums over keys and
// another one over queries, each in a fixed order. With the dropout factors m, and with
// delta = grad_output . output for each query:
//   weight = exp(score - log_sum)        grad_value = (m weight)^T grad_output
//   grad_score = weight (m (grad_output value^T) - delta)
//   grad_query = scale grad_score key    grad_key = scale grad_score^T query
// (Dao et al., 2022, algorithm 4)
#include "kernels/cuda/attention/attention_call.cuh"
#include "kernels/cuda/attention/attention_matmuls.cuh"
#include "kernels/cuda/attention/attention_paths.hpp"

namespace trireme::kernels::gpu {
namespace {

// Arguments of the two kernels. The tensors are the fields of AttentionBackward.
template <class T>
struct BackwardCall {
    AttentionCall<Accumulator<T>> call;
    const AttentionTile* tiles;
    device::Elements<const T> query, key, value, grad_output;
    const QueryStatistics<Accumulator<T>>* statistics;  // (heads, rows)
    device::Elements<T> grad_query, grad_key, grad_value;

    // Returns the statistics of the queries of the tile's segment, for one head.
    __device__ const QueryStatistics<Accumulator<T>>* get_statistics(const AttentionTile& tile,
                                                                     unsigned head) const {
        return statistics + head * query.rows + tile.segment_begin;
    }
    // Returns a view of `rows` rows of one head, from the segment's row `begin` on.
    __device__ TileRows<T> view_rows(const device::Elements<const T>& matrix, const AttentionTile& tile,
                                     unsigned head, unsigned begin, unsigned rows) const {
        const std::size_t row = std::size_t{tile.segment_begin} + begin;
        return {matrix.row(row) + std::size_t{head} * call.head_size, matrix.stride, rows, call.head_size};
    }
};

// The backward pass of the softmax. Replaces an unscaled score by its weight times the dropout factor, and the
// gradient of this product by the gradient of the unscaled score.
template <class W>
struct SoftmaxGradient {
    const AttentionCall<W>& call;
    unsigned length;  // rows of the segment

    // `query` and `key` are counted from the segment's begin.
    __device__ void apply(unsigned query, unsigned key, bool is_kept, const QueryStatistics<W>& statistics,
                          W& score, W& grad) const {
        const bool is_visible = query < length && key < length && (!call.is_causal || key <= query);
        const W weight = is_visible ? exponential(call.scale * score - statistics.log_sum) : W{0};
        const W factor = is_kept ? call.dropout_scale : W{0};
        grad = weight * (factor * grad - statistics.delta) * call.scale;
        score = weight * factor;
    }
};

template <class W>
__device__ QueryStatistics<W> read_statistics(const QueryStatistics<W>* statistics, unsigned query,
                                              unsigned length) {
    return query < length ? statistics[query] : QueryStatistics<W>{0, 0};
}

// A block of threads computes at most 64 * `vectors` channels of grad_query, for one tile of queries of one
// head.
template <class T, unsigned vectors>
__global__ void __launch_bounds__(tile_threads) compute_grad_query(BackwardCall<T> op) {
    using W = Accumulator<T>;
    const AttentionCall<W>& call = op.call;
    const AttentionTile tile = op.tiles[blockIdx.x / call.heads];
    const unsigned head = blockIdx.x % call.heads;
    const unsigned first_channel = blockIdx.y * vectors * tile_side;
    W* const slices = shared_memory<W>();
    W* const weights = slices + 2 * slice_elements;
    const TileRows<T> query = op.view_rows(op.query, tile, head, tile.begin, tile.rows);
    const TileRows<T> grad_output = op.view_rows(op.grad_output, tile, head, tile.begin, tile.rows);
    const QueryStatistics<W>* const statistics = op.get_statistics(tile, head);
    const SoftmaxGradient<W> gradient{call, tile.segment_length};
    W sums[4][4 * vectors] = {};
    const unsigned end = count_visible_keys(tile, call.is_causal);
    for (unsigned begin = 0; begin < end; begin += tile_side) {
        const unsigned keys = end - begin < tile_side ? end - begin : tile_side;
        const TileRows<T> key = op.view_rows(op.key, tile, head / call.heads_per_kv_head, begin, keys);
        const TileRows<T> value = op.view_rows(op.value, tile, head / call.heads_per_kv_head, begin, keys);
        W scores[4][4] = {};
        W grads[4][4] = {};
        multiply_rows(query, key, slices, scores);
        multiply_rows(grad_output, value, slices, grads);
#pragma unroll
        for (unsigned i = 0; i < 4; ++i) {
            const unsigned q = tile.begin + 4 * (threadIdx.x / 16) + i;
            const unsigned first = begin + 4 * (threadIdx.x % 16);
            const unsigned keep_mask = call.has_dropout ? call.make_keep_mask(tile, head, q, first / 4) : ~0U;
            const QueryStatistics<W> query_statistics = read_statistics(statistics, q, tile.segment_length);
#pragma unroll
            for (unsigned j = 0; j < 4; ++j)
                gradient.apply(q, first + j, (keep_mask >> j & 1U) != 0, query_statistics, scores[i][j],
                               grads[i][j]);
        }
        store_weights(grads, weights);
        add_weighted<T, vectors>(weights, key.column_range(first_channel, vectors * tile_side), slices, sums);
    }
    const std::size_t column = std::size_t{head} * call.head_size + first_channel;
    store_sums<T, vectors>(sums, tile.rows, query.column_range(first_channel, vectors * tile_side).columns,
                           [&](unsigned r) { return op.grad_query.row(tile.first_row() + r) + column; });
}

// The work of a block of threads: the gradients of a tile of keys and values.
template <class T, unsigned vectors>
struct KeyTile {
    using W = Accumulator<T>;

    const BackwardCall<T>& op;
    AttentionTile tile;
    unsigned kv_head, first_channel;
    W* slices;                   // in shared memory
    W grad_key[4][4 * vectors];  // sums of a thread, as in add_weighted()
    W grad_value[4][4 * vectors];

    // Adds the terms of a tile of queries of one head to the gradients. The tile begins at row `begin` of the
    // segment.
    __device__ void add(unsigned head, unsigned begin) {
        const unsigned remaining = tile.segment_length - begin;
        const unsigned queries = remaining < tile_side ? remaining : tile_side;
        const TileRows<T> key = op.view_rows(op.key, tile, kv_head, tile.begin, tile.rows);
        const TileRows<T> value = op.view_rows(op.value, tile, kv_head, tile.begin, tile.rows);
        const TileRows<T> query = op.view_rows(op.query, tile, head, begin, queries);
        const TileRows<T> grad_output = op.view_rows(op.grad_output, tile, head, begin, queries);
        W* const weights = slices + 2 * slice_elements;
        W scores[4][4] = {};
        W grads[4][4] = {};
        multiply_rows(key, query, slices, scores);
        multiply_rows(value, grad_output, slices, grads);
        differentiate_softmax(head, begin, scores, grads);
        store_weights(scores, weights);
        add_weighted<T, vectors>(weights, grad_output.column_range(first_channel, vectors * tile_side), slices,
                                 grad_value);
        __syncthreads();  // all threads have read the weights
        store_weights(grads, weights);
        add_weighted<T, vectors>(weights, query.column_range(first_channel, vectors * tile_side), slices,
                                 grad_key);
    }

    // The scores have keys as rows and the queries from `begin` on as columns.
    __device__ void differentiate_softmax(unsigned head, unsigned begin, W (&scores)[4][4],
                                          W (&grads)[4][4]) const {
        const QueryStatistics<W>* const statistics = op.get_statistics(tile, head);
        const SoftmaxGradient<W> gradient{op.call, tile.segment_length};
        const unsigned first = tile.begin + 4 * (threadIdx.x / 16);
#pragma unroll
        for (unsigned j = 0; j < 4; ++j) {
            const unsigned q = begin + 4 * (threadIdx.x % 16) + j;
            const unsigned keep_mask =
                op.call.has_dropout ? op.call.make_keep_mask(tile, head, q, first / 4) : ~0U;
            const QueryStatistics<W> query_statistics = read_statistics(statistics, q, tile.segment_length);
#pragma unroll
            for (unsigned i = 0; i < 4; ++i)
                gradient.apply(q, first + i, (keep_mask >> i & 1U) != 0, query_statistics, scores[i][j],
                               grads[i][j]);
        }
    }
};

template <class T, unsigned vectors>
__global__ void __launch_bounds__(tile_threads) compute_grad_key_and_value(BackwardCall<T> op) {
    const AttentionCall<Accumulator<T>>& call = op.call;
    const unsigned kv_heads = call.heads / call.heads_per_kv_head;
    KeyTile<T, vectors> keys{.op = op,
                             .tile = op.tiles[blockIdx.x / kv_heads],
                             .kv_head = blockIdx.x % kv_heads,
                             .first_channel = blockIdx.y * vectors * tile_side,
                             .slices = shared_memory<Accumulator<T>>(),
                             .grad_key = {},
                             .grad_value = {}};
    const AttentionTile& tile = keys.tile;
    for (unsigned h = 0; h < call.heads_per_kv_head; ++h) {
        for (unsigned q = find_first_query(tile, call.is_causal); q < tile.segment_length; q += tile_side)
            keys.add(keys.kv_head * call.heads_per_kv_head + h, q);
    }
    const std::size_t column = std::size_t{keys.kv_head} * call.head_size + keys.first_channel;
    const unsigned remaining = call.head_size - keys.first_channel;
    const unsigned columns = remaining < vectors * tile_side ? remaining : vectors * tile_side;
    store_sums<T, vectors>(keys.grad_key, tile.rows, columns,
                           [&](unsigned r) { return op.grad_key.row(tile.first_row() + r) + column; });
    store_sums<T, vectors>(keys.grad_value, tile.rows, columns,
                           [&](unsigned r) { return op.grad_value.row(tile.first_row() + r) + column; });
}

template <class T, unsigned vectors>
void launch_backward(device::CudaStream& stream, const AttentionBackward& op) {
    using W = Accumulator<T>;
    BackwardCall<T> backward{.call = make_attention_call<W>(op.shape, op.query.columns),
                             .tiles = nullptr,
                             .query = get_elements<T>(op.query),
                             .key = get_elements<T>(op.key),
                             .value = get_elements<T>(op.value),
                             .grad_output = get_elements<T>(op.grad_output),
                             .statistics = compute_query_statistics<T>(stream, op, 1),
                             .grad_query = get_elements<T>(op.grad_query),
                             .grad_key = get_elements<T>(op.grad_key),
                             .grad_value = get_elements<T>(op.grad_value)};
    const unsigned head_size = backward.call.head_size;
    const TileList queries = upload_tiles(stream, op.shape, op.query.rows, tile_side, TileKind::queries);
    backward.tiles = queries.tiles;
    launch_kernel(stream, make_plain_grid<W, vectors>(queries.count * op.shape.heads, head_size),
                  compute_grad_query<T, vectors>, backward);
    const TileList keys = upload_tiles(stream, op.shape, op.query.rows, tile_side, TileKind::keys);
    backward.tiles = keys.tiles;
    launch_kernel(stream, make_plain_grid<W, vectors>(keys.count * op.shape.key_value_heads, head_size),
                  compute_grad_key_and_value<T, vectors>, backward);
}

}  // namespace

void run_plain_attention(device::CudaStream& stream, const AttentionBackward& op) {
    visit_type(op.query.dtype, [&]<class T>(T) {
        if (op.query.columns / op.shape.heads <= tile_side) return launch_backward<T, 1>(stream, op);
        launch_backward<T, 2>(stream, op);
    });
}

}  // namespace trireme::kernels::gpu
