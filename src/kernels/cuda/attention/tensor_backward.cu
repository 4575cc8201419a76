// Gradients of attention on tensor cores, with the equations of attention_backward.cu. In the first kernel, a
// block of threads has 64 R queries of one head (R: see BackwardBlock) and visits the tiles of keys that these
// queries attend to. In the second kernel, a block has 64 R keys of one key-value head and visits the tiles of
// queries that attend to these keys, head by head. Each sum is computed by a single block. In the second
// kernel, the rows of the scores are keys. The registers then already have the layout that the next matmul
// requires of its left factor. (Dao, 2023)
#include "kernels/cuda/attention/attention_paths.hpp"
#include "kernels/cuda/attention/tensor_scores.cuh"

namespace trireme::kernels::gpu {
namespace {

// Arguments of the two kernels. The tensors are the fields of AttentionBackward.
struct BackwardCall {
    AttentionCall<float> call;
    const AttentionTile* tiles;
    device::Elements<const device::Bf16> query, key, value, grad_output;
    const QueryStatistics<float>* statistics;  // (heads, rows); log_sum is a binary logarithm
    device::Elements<device::Bf16> grad_query, grad_key, grad_value;

    __device__ const QueryStatistics<float>* get_statistics(const AttentionTile& tile, unsigned head) const {
        return statistics + head * query.rows + tile.segment_begin;
    }
};

// Shared memory of a block of threads: two resident tiles, which the block loads once, and two buffers. Each
// buffer holds two streamed tiles, which the block replaces by the next two after use. In compute_grad_query(),
// queries and output gradients are resident, and keys and values are streamed. In compute_grad_key_and_value(),
// keys and values are resident. Queries and output gradients are streamed, together with the statistics of the
// queries. `shared_bytes` does not include these statistics. Template parameters of the kernels:
//   D      columns of a tile, at least the head size
//   R      row tiles per warp; a row tile has 16 rows
//   N      rows of a streamed tile
//   S      rows of a streamed tile that are processed at a time, to save registers
//   Left   how the resident tiles are loaded: LeftInTile or LeftInRegisters
template <unsigned D, unsigned R, unsigned N>
struct BackwardBlock {
    static constexpr unsigned rows = 16 * R * tensor_warps;
    static constexpr unsigned buffer_elements = 2 * N * D;
    static constexpr std::size_t shared_bytes = (2 * rows * D + 2 * buffer_elements) * sizeof(device::Bf16);
};

// Replaces `score` by its weight, or by 0 if dropout drops the weight. Replaces `grad`, which is the gradient
// of the weight after dropout, by the gradient of the score. The new `score` lacks the dropout scale, and the
// new `grad` lacks the scale of the scores. These constant factors are applied when the sums are stored.
// `factor` converts scores to binary logarithms of weights.
__device__ inline void differentiate_softmax(float factor, float dropout_scale, bool is_kept,
                                             const QueryStatistics<float>& statistics, float& score,
                                             float& grad) {
    const float weight = power_of_two(score * factor - statistics.log_sum);
    grad = weight * (dropout_scale * (is_kept ? grad : 0.0F) - statistics.delta);
    score = is_kept ? weight : 0.0F;
}

// The queries of a warp, with the statistics of the lane's queries. Each query is a row of the warp's scores. A
// lane holds some columns of two rows of each row tile.
template <unsigned R>
struct QueryRows {
    unsigned first;  // first query of the warp, counted from the segment's begin
    QueryStatistics<float> statistics[R][2];

    __device__ QueryRows(const BackwardCall& op, const AttentionTile& tile, unsigned head, unsigned row)
        : first(tile.begin + row) {
#pragma unroll
        for (unsigned r = 0; r < R; ++r) {
#pragma unroll
            for (unsigned half = 0; half < 2; ++half) {
                const unsigned query = first + find_row(r, 2 * half, lane_index());
                statistics[r][half] = query < tile.segment_length ? op.get_statistics(tile, head)[query]
                                                                  : QueryStatistics<float>{0, 0};
            }
        }
    }
};

// Calls differentiate_softmax() for the elements of one row tile. get_statistics(n, e) returns the statistics
// of the query of element e in column tile n.
template <unsigned N, class GetStatistics, class DropoutMask>
__device__ void differentiate_row_tile(const AttentionCall<float>& call, GetStatistics&& get_statistics,
                                       const DropoutMask& dropout_mask, float (&scores)[N / 8][4],
                                       float (&grads)[N / 8][4]) {
    const float factor = call.scale * log2_of_e;
#pragma unroll
    for (unsigned n = 0; n < N / 8; ++n)
#pragma unroll
        for (unsigned e = 0; e < 4; ++e)
            differentiate_softmax(factor, call.dropout_scale, dropout_mask.is_kept(n, e), get_statistics(n, e),
                                  scores[n][e], grads[n][e]);
}

// Calls differentiate_softmax() for scores whose rows are queries and whose columns are the keys from `key` on.
template <bool has_dropout, unsigned R, unsigned N>
__device__ void differentiate_query_rows(const AttentionCall<float>& call, const AttentionTile& tile,
                                         unsigned head, const QueryRows<R>& query_rows, unsigned key,
                                         float (&scores)[R][N / 8][4], float (&grads)[R][N / 8][4]) {
    using DropoutMask = std::conditional_t<has_dropout, QueryRowDropout<N>, NoDropout>;
#pragma unroll
    for (unsigned r = 0; r < R; ++r) {
        const auto get_statistics = [&](unsigned, unsigned e) { return query_rows.statistics[r][e / 2]; };
        const DropoutMask dropout_mask(call, tile, head, query_rows.first + 16 * r, key);
        differentiate_row_tile<N>(call, get_statistics, dropout_mask, scores[r], grads[r]);
    }
}

// Calls differentiate_softmax() for scores whose rows are keys. `statistics` are the statistics of the streamed
// queries, in shared memory.
template <bool has_dropout, unsigned R, unsigned N>
__device__ void differentiate_key_rows(const AttentionCall<float>& call, const AttentionTile& tile,
                                       unsigned head, const KeyRowMask<R, N>& mask,
                                       const QueryStatistics<float>* statistics, float (&scores)[R][N / 8][4],
                                       float (&grads)[R][N / 8][4]) {
    using DropoutMask = std::conditional_t<has_dropout, KeyRowDropout<N>, NoDropout>;
    const unsigned lane = lane_index();
    const auto get_statistics = [&](unsigned n, unsigned e) { return statistics[find_column(n, e, lane)]; };
#pragma unroll
    for (unsigned r = 0; r < R; ++r) {
        const DropoutMask dropout_mask(call, tile, head, mask.key + 16 * r, mask.query);
        differentiate_row_tile<N>(call, get_statistics, dropout_mask, scores[r], grads[r]);
    }
}

template <unsigned D, unsigned R, unsigned N, class Left, bool has_dropout>
__global__ void __launch_bounds__(tensor_threads) compute_grad_query(BackwardCall op) {
    using Block = BackwardBlock<D, R, N>;
    const AttentionCall<float>& call = op.call;
    const AttentionTile tile = op.tiles[blockIdx.x / call.heads];
    const unsigned head = blockIdx.x % call.heads;
    const unsigned size = call.head_size;
    const unsigned row = 16 * R * (threadIdx.x / warp_size);  // first row of the warp
    device::Bf16* const queries = shared_memory<device::Bf16>();
    device::Bf16* const grad_outputs = queries + Block::rows * D;
    device::Bf16* const buffers = grad_outputs + Block::rows * D;
    const QueryRows<R> query_rows(op, tile, head, row);
    Left own_queries(queries, row);
    Left own_grads(grad_outputs, row);
    float sums[R][D / 8][4] = {};
    const unsigned end = count_visible_keys(tile, call.is_causal);
    const ChunkRows all_keys = get_head_rows(op.key, tile, head / call.heads_per_kv_head, size, 0, end);
    const ChunkRows all_values = get_head_rows(op.value, tile, head / call.heads_per_kv_head, size, 0, end);
    const auto load = [&](unsigned t, unsigned buffer) {
        device::Bf16* const keys = buffers + buffer * Block::buffer_elements;
        load_tile<D, N>(all_keys.skip_rows(t * N), keys);
        load_tile<D, N>(all_values.skip_rows(t * N), keys + N * D);
    };
    const auto begin = [&] {
        own_queries.load();
        own_grads.load();
    };
    const auto use = [&](unsigned t, unsigned buffer) {
        const QueryRowMask<R, N> mask{query_rows.first, t * N, tile.segment_length, call.is_causal};
        if (row >= tile.rows || mask.is_fully_masked()) return;
        const device::Bf16* const keys = buffers + buffer * Block::buffer_elements;
        float scores[R][N / 8][4] = {};
        float grads[R][N / 8][4] = {};
        multiply_tiles<D, R, N>(own_queries, keys, scores);
        multiply_tiles<D, R, N>(own_grads, keys + N * D, grads);
        mask_scores(mask, scores);
        differentiate_query_rows<has_dropout, R, N>(call, tile, head, query_rows, t * N, scores, grads);
        add_weighted_tile<D, R, N>(grads, keys, sums);
    };
    const unsigned own_end = tile.begin + tile.rows;
    load_tile<D, Block::rows>(get_head_rows(op.query, tile, head, size, tile.begin, own_end), queries);
    load_tile<D, Block::rows>(get_head_rows(op.grad_output, tile, head, size, tile.begin, own_end),
                              grad_outputs);
    run_double_buffered(static_cast<unsigned>(divide_round_up(end, N)), load, begin, use);
    store_tile<D, R>(
        sums, [&](unsigned, unsigned) { return call.scale; }, queries, row,
        op.grad_query.row(tile.first_row()) + std::size_t{head} * size, op.grad_query.stride, tile.rows, size);
}

// Queries of one head in shared memory, with their output gradients and statistics.
struct LoadedQueries {
    unsigned head;
    const device::Bf16* queries;
    const device::Bf16* grad_outputs;
    const QueryStatistics<float>* statistics;
};

// The keys and values of a warp, with the sums of their gradients. Each key is a row of the warp's scores.
template <unsigned D, unsigned R, class Left>
struct KeyRows {
    Left keys, values;
    float grad_key[R][D / 8][4] = {};
    float grad_value[R][D / 8][4] = {};

    __device__ KeyRows(const device::Bf16* key_tile, const device::Bf16* value_tile, unsigned row)
        : keys(key_tile, row), values(value_tile, row) {}
    __device__ void load() {
        keys.load();
        values.load();
    }
    // Adds the terms of S queries to the gradients.
    template <bool has_dropout, unsigned S>
    __device__ void add(const AttentionCall<float>& call, const AttentionTile& tile,
                        const KeyRowMask<R, S>& mask, const LoadedQueries& loaded_queries) {
        if (mask.is_fully_masked()) return;
        float scores[R][S / 8][4] = {};
        float grads[R][S / 8][4] = {};
        multiply_tiles<D, R, S>(keys, loaded_queries.queries, scores);
        multiply_tiles<D, R, S>(values, loaded_queries.grad_outputs, grads);
        mask_scores(mask, scores);
        differentiate_key_rows<has_dropout>(call, tile, loaded_queries.head, mask, loaded_queries.statistics,
                                            scores, grads);
        add_weighted_tile<D, R, S>(scores, loaded_queries.grad_outputs, grad_value);
        add_weighted_tile<D, R, S>(grads, loaded_queries.queries, grad_key);
    }
};

// Starts the asynchronous load of the statistics of the first N queries, with zeros from query `count` on.
template <unsigned N>
__device__ void load_statistics(const QueryStatistics<float>* from, unsigned count,
                                QueryStatistics<float>* statistics) {
    static_assert(N <= tensor_threads);
    const unsigned i = threadIdx.x;
    if (i < N) copy_async<sizeof(QueryStatistics<float>)>(statistics + i, from + i, i < count);
}

template <unsigned D, unsigned R, unsigned N, unsigned S, class Left, bool has_dropout>
__global__ void __launch_bounds__(tensor_threads) compute_grad_key_and_value(BackwardCall op) {
    using Block = BackwardBlock<D, R, N>;
    const AttentionCall<float>& call = op.call;
    const unsigned kv_heads = call.heads / call.heads_per_kv_head;
    const AttentionTile tile = op.tiles[blockIdx.x / kv_heads];
    const unsigned kv_head = blockIdx.x % kv_heads;
    const unsigned size = call.head_size;
    const unsigned row = 16 * R * (threadIdx.x / warp_size);  // first row of the warp
    device::Bf16* const keys = shared_memory<device::Bf16>();
    device::Bf16* const values = keys + Block::rows * D;
    device::Bf16* const buffers = values + Block::rows * D;
    auto* const statistics = reinterpret_cast<QueryStatistics<float>*>(buffers + 2 * Block::buffer_elements);
    KeyRows<D, R, Left> key_rows(keys, values, row);
    const unsigned begin = find_first_query(tile, call.is_causal);
    const auto tiles_per_head = static_cast<unsigned>(divide_round_up(tile.segment_length - begin, N));
    QueryLoop load_position{kv_head * call.heads_per_kv_head, begin};
    QueryLoop use_position = load_position;
    const auto load = [&](unsigned, unsigned buffer) {
        const auto [head, query] = load_position;
        device::Bf16* const queries = buffers + buffer * Block::buffer_elements;
        load_tile<D, N>(get_head_rows(op.query, tile, head, size, query, tile.segment_length), queries);
        load_tile<D, N>(get_head_rows(op.grad_output, tile, head, size, query, tile.segment_length),
                        queries + N * D);
        load_statistics<N>(op.get_statistics(tile, head) + query, tile.segment_length - query,
                           statistics + buffer * N);
        load_position.advance(N, begin, tile.segment_length);
    };
    const auto use = [&](unsigned, unsigned buffer) {
        const auto [head, query] = use_position;
        use_position.advance(N, begin, tile.segment_length);
        if (row >= tile.rows) return;
        const device::Bf16* const queries = buffers + buffer * Block::buffer_elements;
#pragma unroll
        for (unsigned offset = 0; offset < N; offset += S) {
            key_rows.template add<has_dropout, S>(
                call, tile, {tile.begin + row, query + offset, call.is_causal},
                {head, queries + offset * D, queries + (N + offset) * D, statistics + buffer * N + offset});
        }
    };
    const unsigned own_end = tile.begin + tile.rows;
    load_tile<D, Block::rows>(get_head_rows(op.key, tile, kv_head, size, tile.begin, own_end), keys);
    load_tile<D, Block::rows>(get_head_rows(op.value, tile, kv_head, size, tile.begin, own_end), values);
    run_double_buffered(
        tiles_per_head * call.heads_per_kv_head, load, [&] { key_rows.load(); }, use);
    const std::size_t column = std::size_t{kv_head} * size;
    store_tile<D, R>(
        key_rows.grad_key, [&](unsigned, unsigned) { return call.scale; }, keys, row,
        op.grad_key.row(tile.first_row()) + column, op.grad_key.stride, tile.rows, size);
    store_tile<D, R>(
        key_rows.grad_value, [&](unsigned, unsigned) { return call.dropout_scale; }, values, row,
        op.grad_value.row(tile.first_row()) + column, op.grad_value.stride, tile.rows, size);
}

// Launches compute_grad_query() with blocks of 64 R queries and tiles of N keys.
template <unsigned D, unsigned R, unsigned N, class Left>
void launch_grad_query(device::CudaStream& stream, const AttentionBackward& op, BackwardCall backward) {
    using Block = BackwardBlock<D, R, N>;
    const TileList list = upload_tiles(stream, op.shape, op.query.rows, Block::rows, TileKind::queries);
    backward.tiles = list.tiles;
    launch_kernel(stream,
                  {.blocks_x = list.count * static_cast<unsigned>(op.shape.heads),
                   .threads = tensor_threads,
                   .shared_bytes = Block::shared_bytes},
                  backward.call.has_dropout ? compute_grad_query<D, R, N, Left, true>
                                            : compute_grad_query<D, R, N, Left, false>,
                  backward);
}

template <unsigned D, unsigned R, unsigned N, unsigned S, class Left>
void launch_grad_key_and_value(device::CudaStream& stream, const AttentionBackward& op, BackwardCall backward) {
    using Block = BackwardBlock<D, R, N>;
    const TileList list = upload_tiles(stream, op.shape, op.query.rows, Block::rows, TileKind::keys);
    backward.tiles = list.tiles;
    launch_kernel(stream,
                  {.blocks_x = list.count * static_cast<unsigned>(op.shape.key_value_heads),
                   .threads = tensor_threads,
                   .shared_bytes = Block::shared_bytes + 2 * N * sizeof(QueryStatistics<float>)},
                  backward.call.has_dropout ? compute_grad_key_and_value<D, R, N, S, Left, true>
                                            : compute_grad_key_and_value<D, R, N, S, Left, false>,
                  backward);
}

}  // namespace

void run_tensor_attention(device::CudaStream& stream, const AttentionBackward& op) {
    const BackwardCall backward{.call = make_attention_call<float>(op.shape, op.query.columns),
                                .tiles = nullptr,
                                .query = get_elements<device::Bf16>(op.query),
                                .key = get_elements<device::Bf16>(op.key),
                                .value = get_elements<device::Bf16>(op.value),
                                .grad_output = get_elements<device::Bf16>(op.grad_output),
                                .statistics = compute_query_statistics<device::Bf16>(stream, op, log2_of_e),
                                .grad_query = get_elements<device::Bf16>(op.grad_query),
                                .grad_key = get_elements<device::Bf16>(op.grad_key),
                                .grad_value = get_elements<device::Bf16>(op.grad_value)};
    if (backward.call.head_size <= 64) {
        launch_grad_query<64, 2, 32, LeftInRegisters<64, 2>>(stream, op, backward);
        launch_grad_key_and_value<64, 2, 32, 16, LeftInRegisters<64, 2>>(stream, op, backward);
    } else {
        launch_grad_query<128, 2, 32, LeftInTile<128>>(stream, op, backward);
        launch_grad_key_and_value<128, 1, 32, 16, LeftInRegisters<128, 1>>(stream, op, backward);
    }
}

}  // namespace trireme::kernels::gpu
