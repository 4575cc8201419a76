// Recomputes the weights from the scores and log_sum, tile by tile. One kernel sums over keys and another one
// over queries, each in a fixed order. With m the dropout factors, and delta = grad_output . output for each
// query:
//   weight = exp(score - log_sum)        grad_value = (m weight)^T grad_output
//   grad_score = weight (m (grad_output value^T) - delta)
//   grad_query = scale grad_score key    grad_key = scale grad_score^T query
// (Dao et al., 2022, algorithm 4)
#include "kernels/cuda/attention/attention_call.cuh"
#include "kernels/cuda/attention/attention_paths.hpp"
#include "kernels/cuda/attention/attention_products.cuh"

namespace trireme::kernels::gpu {
namespace {

template <class T>
struct Backward {
    AttentionCall<Wide<T>> call;
    const AttentionTile* tiles;
    device::Elements<const T> query, key, value, grad_output;
    const QueryFacts<Wide<T>>* facts;  // (heads, rows)
    device::Elements<T> grad_query, grad_key, grad_value;

    __device__ const QueryFacts<Wide<T>>* facts_of(const AttentionTile& tile, unsigned head) const {
        return facts + head * query.rows + tile.segment;
    }
    // Returns `rows` rows of one head from the segment's row `begin` on.
    __device__ TileRows<T> rows_of(const device::Elements<const T>& matrix, const AttentionTile& tile,
                                   unsigned head, unsigned begin, unsigned rows) const {
        const std::size_t row = std::size_t{tile.segment} + begin;
        return {matrix.row(row) + std::size_t{head} * call.head_size, matrix.stride, rows, call.head_size};
    }
};

// Replaces a score by its weight times the dropout factor, and the gradient of that weight by the score's
// gradient.
template <class W>
struct Grader {
    const AttentionCall<W>& call;
    unsigned length;

    __device__ void grade(unsigned query, unsigned key, bool is_kept, const QueryFacts<W>& facts, W& score,
                          W& grad) const {
        const bool is_seen = query < length && key < length && (!call.is_causal || key <= query);
        const W weight = is_seen ? exponential(call.scale * score - facts.log_sum) : W{0};
        const W factor = is_kept ? call.kept_factor : W{0};
        grad = weight * (factor * grad - facts.delta) * call.scale;
        score = weight * factor;
    }
};

template <class W>
__device__ QueryFacts<W> facts_at(const QueryFacts<W>* facts, unsigned query, unsigned length) {
    return query < length ? facts[query] : QueryFacts<W>{0, 0};
}

template <class T, unsigned vectors>
__global__ void __launch_bounds__(tile_threads) find_grad_query(Backward<T> op) {
    using W = Wide<T>;
    const AttentionCall<W>& call = op.call;
    const AttentionTile tile = op.tiles[blockIdx.x / call.heads];
    const unsigned head = blockIdx.x % call.heads;
    const unsigned chunk = blockIdx.y * vectors * tile_side;
    W* const slices = shared_memory<W>();
    W* const weights = slices + 2 * slice_elements;
    const TileRows<T> query = op.rows_of(op.query, tile, head, tile.begin, tile.rows);
    const TileRows<T> grad_output = op.rows_of(op.grad_output, tile, head, tile.begin, tile.rows);
    const QueryFacts<W>* const facts = op.facts_of(tile, head);
    const Grader<W> grader{call, tile.length};
    W sums[4][4 * vectors] = {};
    const unsigned end = seen_keys(tile, call.is_causal);
    for (unsigned begin = 0; begin < end; begin += tile_side) {
        const unsigned keys = end - begin < tile_side ? end - begin : tile_side;
        const TileRows<T> key = op.rows_of(op.key, tile, head / call.sharing, begin, keys);
        const TileRows<T> value = op.rows_of(op.value, tile, head / call.sharing, begin, keys);
        W scores[4][4] = {};
        W grads[4][4] = {};
        multiply_rows(query, key, slices, scores);
        multiply_rows(grad_output, value, slices, grads);
#pragma unroll
        for (unsigned i = 0; i < 4; ++i) {
            const unsigned q = tile.begin + 4 * (threadIdx.x / 16) + i;
            const unsigned first = begin + 4 * (threadIdx.x % 16);
            const unsigned kept = call.drops ? call.kept(tile, head, q, first / 4) : ~0U;
            const QueryFacts<W> own = facts_at(facts, q, tile.length);
#pragma unroll
            for (unsigned j = 0; j < 4; ++j)
                grader.grade(q, first + j, (kept >> j & 1U) != 0, own, scores[i][j], grads[i][j]);
        }
        store_weights(grads, weights);
        add_weighted<T, vectors>(weights, key.column_range(chunk, vectors * tile_side), slices, sums);
    }
    const std::size_t column = std::size_t{head} * call.head_size + chunk;
    store_sums<T, vectors>(sums, tile.rows, query.column_range(chunk, vectors * tile_side).columns,
                           [&](unsigned r) { return op.grad_query.row(tile.first_row() + r) + column; });
}

// The gradient sums of a tile of keys, and the operands of a block.
template <class T, unsigned vectors>
struct KeyTile {
    using W = Wide<T>;

    const Backward<T>& op;
    AttentionTile tile;
    unsigned group, chunk;
    W* slices;
    W grad_key[4][4 * vectors];
    W grad_value[4][4 * vectors];

    // Adds the contribution of a tile of queries of one head, from the segment's row `begin` on.
    __device__ void add(unsigned head, unsigned begin) {
        const unsigned left = tile.length - begin;
        const unsigned queries = left < tile_side ? left : tile_side;
        const TileRows<T> key = op.rows_of(op.key, tile, group, tile.begin, tile.rows);
        const TileRows<T> value = op.rows_of(op.value, tile, group, tile.begin, tile.rows);
        const TileRows<T> query = op.rows_of(op.query, tile, head, begin, queries);
        const TileRows<T> grad_output = op.rows_of(op.grad_output, tile, head, begin, queries);
        W* const weights = slices + 2 * slice_elements;
        W scores[4][4] = {};
        W grads[4][4] = {};
        multiply_rows(key, query, slices, scores);
        multiply_rows(value, grad_output, slices, grads);
        grade(head, begin, scores, grads);
        store_weights(scores, weights);
        add_weighted<T, vectors>(weights, grad_output.column_range(chunk, vectors * tile_side), slices,
                                 grad_value);
        __syncthreads();  // all threads have read the weights
        store_weights(grads, weights);
        add_weighted<T, vectors>(weights, query.column_range(chunk, vectors * tile_side), slices, grad_key);
    }

    __device__ void grade(unsigned head, unsigned begin, W (&scores)[4][4], W (&grads)[4][4]) const {
        const QueryFacts<W>* const facts = op.facts_of(tile, head);
        const Grader<W> grader{op.call, tile.length};
        const unsigned first = tile.begin + 4 * (threadIdx.x / 16);
#pragma unroll
        for (unsigned j = 0; j < 4; ++j) {
            const unsigned q = begin + 4 * (threadIdx.x % 16) + j;
            const unsigned kept = op.call.drops ? op.call.kept(tile, head, q, first / 4) : ~0U;
            const QueryFacts<W> own = facts_at(facts, q, tile.length);
#pragma unroll
            for (unsigned i = 0; i < 4; ++i)
                grader.grade(q, first + i, (kept >> i & 1U) != 0, own, scores[i][j], grads[i][j]);
        }
    }
};

template <class T, unsigned vectors>
__global__ void __launch_bounds__(tile_threads) find_grad_key_and_value(Backward<T> op) {
    const AttentionCall<Wide<T>>& call = op.call;
    const unsigned groups = call.heads / call.sharing;
    KeyTile<T, vectors> keys{.op = op,
                             .tile = op.tiles[blockIdx.x / groups],
                             .group = blockIdx.x % groups,
                             .chunk = blockIdx.y * vectors * tile_side,
                             .slices = shared_memory<Wide<T>>(),
                             .grad_key = {},
                             .grad_value = {}};
    const AttentionTile& tile = keys.tile;
    for (unsigned h = 0; h < call.sharing; ++h) {
        for (unsigned q = first_query(tile, call.is_causal); q < tile.length; q += tile_side)
            keys.add(keys.group * call.sharing + h, q);
    }
    const std::size_t column = std::size_t{keys.group} * call.head_size + keys.chunk;
    const unsigned left = call.head_size - keys.chunk;
    const unsigned columns = left < vectors * tile_side ? left : vectors * tile_side;
    store_sums<T, vectors>(keys.grad_key, tile.rows, columns,
                           [&](unsigned r) { return op.grad_key.row(tile.first_row() + r) + column; });
    store_sums<T, vectors>(keys.grad_value, tile.rows, columns,
                           [&](unsigned r) { return op.grad_value.row(tile.first_row() + r) + column; });
}

template <class T, unsigned vectors>
void start_backward(device::CudaStream& stream, const AttentionBackward& op) {
    using W = Wide<T>;
    Backward<T> backward{.call = call_of<W>(op.shape, op.query.columns),
                         .tiles = nullptr,
                         .query = elements<T>(op.query),
                         .key = elements<T>(op.key),
                         .value = elements<T>(op.value),
                         .grad_output = elements<T>(op.grad_output),
                         .facts = find_query_facts<T>(stream, op, 1),
                         .grad_query = elements<T>(op.grad_query),
                         .grad_key = elements<T>(op.grad_key),
                         .grad_value = elements<T>(op.grad_value)};
    const unsigned head_size = backward.call.head_size;
    const TileList queries = tell_tiles(stream, op.shape, op.query.rows, tile_side, TileOf::queries);
    backward.tiles = queries.tiles;
    start(stream, plain_grid<W, vectors>(queries.count * op.shape.heads, head_size),
          find_grad_query<T, vectors>, backward);
    const TileList keys = tell_tiles(stream, op.shape, op.query.rows, tile_side, TileOf::keys);
    backward.tiles = keys.tiles;
    start(stream, plain_grid<W, vectors>(keys.count * op.shape.groups, head_size),
          find_grad_key_and_value<T, vectors>, backward);
}

}  // namespace

void attend_plainly(device::CudaStream& stream, const AttentionBackward& op) {
    visit_type(op.query.dtype, [&]<class T>(T) {
        if (op.query.columns / op.shape.heads <= tile_side) return start_backward<T, 1>(stream, op);
        start_backward<T, 2>(stream, op);
    });
}

}  // namespace trireme::kernels::gpu
