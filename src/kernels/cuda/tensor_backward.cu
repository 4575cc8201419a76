// Attention's gradients on tensor cores, with the equations of attention_backward.cu. A block has 64 R queries
// of one head and takes the tiles of keys that they see, or it has 64 R keys of one group and takes the tiles
// of queries that see them, for one head after the other: no sum has more than one author. Scores of the latter
// are transposed, so that whatever is multiplied next lies in registers as tensor cores want it. (Dao, 2023)
#include "kernels/cuda/attention_paths.hpp"
#include "kernels/cuda/tensor_scores.cuh"

namespace trireme::gpu {
namespace {

struct Backward {
    AttentionCall<float> call;
    const AttentionTile* tiles;
    Elements<const Bf16> query, key, value, grad_output;
    const QueryFacts<float>* facts;  // (heads, rows), log_sum as an exponent of two
    Elements<Bf16> grad_query, grad_key, grad_value;

    __device__ const QueryFacts<float>* facts_of(const AttentionTile& tile, unsigned head) const {
        return facts + head * query.rows + tile.segment;
    }
};

// D columns, of which a head may have fewer; R tiles of 16 rows for each warp; N rows of each tile that it
// takes. Two tiles stay, of two more there are two stages.
template <unsigned D, unsigned R, unsigned N>
struct BackwardBlock {
    static constexpr unsigned rows = 16 * R * tensor_warps;
    static constexpr unsigned stage_elements = 2 * N * D;
    static constexpr std::size_t shared_bytes = (2 * rows * D + 2 * stage_elements) * sizeof(Bf16);
};

// Weight of a score, times 1 or 0 for dropout, and the gradient of the score; both lack their constant factor.
__device__ inline void grade(const AttentionCall<float>& call, bool is_seen, bool is_kept,
                             const QueryFacts<float>& facts, float& score, float& grad) {
    const float weight = is_seen ? power_of_two(score * (call.scale * log2_of_e) - facts.log_sum) : 0.0F;
    grad = weight * ((is_kept ? call.kept_factor * grad : 0.0F) - facts.delta);
    score = is_kept ? weight : 0.0F;
}

// Rows are queries: those of a warp, and what is known of a lane's.
template <unsigned R>
struct QueryRows {
    unsigned first;
    QueryFacts<float> facts[R][2];

    __device__ QueryRows(const Backward& op, const AttentionTile& tile, unsigned head, unsigned row)
        : first(tile.begin + row) {
#pragma unroll
        for (unsigned r = 0; r < R; ++r) {
#pragma unroll
            for (unsigned half = 0; half < 2; ++half) {
                const unsigned query = first + row_of(r, 2 * half, own_lane());
                facts[r][half] = query < tile.length ? op.facts_of(tile, head)[query] : QueryFacts<float>{0, 0};
            }
        }
    }
};

template <unsigned R, unsigned N>
__device__ void grade_queries(const AttentionCall<float>& call, const AttentionTile& tile, unsigned head,
                              const QueryRows<R>& own, unsigned key, float (&scores)[R][N / 8][4],
                              float (&grads)[R][N / 8][4]) {
    const unsigned lane = own_lane();
    const bool is_whole = key + N <= tile.length && (!call.is_causal || key + N <= own.first + 1);
    const auto grade_row_tile = [&](unsigned r, auto&& is_kept) {
#pragma unroll
        for (unsigned n = 0; n < N / 8; ++n) {
#pragma unroll
            for (unsigned e = 0; e < 4; ++e) {
                const unsigned k = key + column_of(n, e, lane);
                const bool is_seen =
                    is_whole || (k < tile.length && (!call.is_causal || k <= own.first + row_of(r, e, lane)));
                grade(call, is_seen, is_kept(n, e), own.facts[r][e / 2], scores[r][n][e], grads[r][n][e]);
            }
        }
    };
#pragma unroll
    for (unsigned r = 0; r < R; ++r) {
        if (call.drops) {
            const KeptOfQueries<N> kept(call, tile, head, own.first + 16 * r, key);
            grade_row_tile(r, [&](unsigned n, unsigned e) { return kept.has(n, e); });
        } else {
            grade_row_tile(r, [](unsigned, unsigned) { return true; });
        }
    }
}

// Queries beyond the segment have zeros for rows, and so weights that change nothing; keys beyond it have rows
// of their own that nobody stores.
template <unsigned R, unsigned N>
__device__ void grade_keys(const AttentionCall<float>& call, const AttentionTile& tile, unsigned head,
                           unsigned key, unsigned query, const QueryFacts<float>* facts,
                           float (&scores)[R][N / 8][4], float (&grads)[R][N / 8][4]) {
    const unsigned lane = own_lane();
    const bool is_whole = !call.is_causal || key + 16 * R <= query + 1;
    const auto grade_row_tile = [&](unsigned r, auto&& is_kept) {
#pragma unroll
        for (unsigned n = 0; n < N / 8; ++n) {
#pragma unroll
            for (unsigned odd = 0; odd < 2; ++odd) {
                const unsigned q = query + column_of(n, odd, lane);
                const QueryFacts<float> own = q < tile.length ? facts[q] : QueryFacts<float>{0, 0};
#pragma unroll
                for (unsigned e = odd; e < 4; e += 2) {
                    const bool is_seen = is_whole || key + row_of(r, e, lane) <= q;
                    grade(call, is_seen, is_kept(n, e), own, scores[r][n][e], grads[r][n][e]);
                }
            }
        }
    };
#pragma unroll
    for (unsigned r = 0; r < R; ++r) {
        if (call.drops) {
            const KeptOfKeys<N> kept(call, tile, head, key + 16 * r, query);
            grade_row_tile(r, [&](unsigned n, unsigned e) { return kept.has(n, e); });
        } else {
            grade_row_tile(r, [](unsigned, unsigned) { return true; });
        }
    }
}

template <unsigned D, unsigned R, unsigned N>
__global__ void __launch_bounds__(tensor_threads) find_grad_query(Backward op) {
    using Block = BackwardBlock<D, R, N>;
    const AttentionCall<float>& call = op.call;
    const AttentionTile tile = op.tiles[blockIdx.x / call.heads];
    const unsigned head = blockIdx.x % call.heads;
    const unsigned size = call.head_size;
    const unsigned row = 16 * R * (threadIdx.x / warp_size);  // the warp's first
    Bf16* const queries = shared_memory<Bf16>();
    Bf16* const grad_outputs = queries + Block::rows * D;
    Bf16* const stages = grad_outputs + Block::rows * D;
    const QueryRows<R> own(op, tile, head, row);
    float sums[R][D / 8][4] = {};
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
        float grads[R][N / 8][4] = {};
        multiply_tiles<D, R, N>(queries, row, keys, scores);
        multiply_tiles<D, R, N>(grad_outputs, row, keys + N * D, grads);
        grade_queries<R, N>(call, tile, head, own, t * N, scores, grads);
        add_weighted_tile<D, R, N>(grads, keys, sums);
    };
    load_tile<D>(head_rows(op.query, tile, head, size, tile.begin, tile.rows), Block::rows, queries);
    load_tile<D>(head_rows(op.grad_output, tile, head, size, tile.begin, tile.rows), Block::rows, grad_outputs);
    use_in_turn(static_cast<unsigned>(parts(end, N)), load, use);
    store_tile<D, R>(
        sums, [&](unsigned, unsigned) { return call.scale; }, queries, row,
        op.grad_query.row(tile.first_row()) + std::size_t{head} * size, op.grad_query.stride, tile.rows, size);
}

template <unsigned D, unsigned R, unsigned N>
__global__ void __launch_bounds__(tensor_threads) find_grad_key_and_value(Backward op) {
    using Block = BackwardBlock<D, R, N>;
    const AttentionCall<float>& call = op.call;
    const unsigned groups = call.heads / call.sharing;
    const AttentionTile tile = op.tiles[blockIdx.x / groups];
    const unsigned group = blockIdx.x % groups;
    const unsigned size = call.head_size;
    const unsigned row = 16 * R * (threadIdx.x / warp_size);  // the warp's first
    Bf16* const keys = shared_memory<Bf16>();
    Bf16* const values = keys + Block::rows * D;
    Bf16* const stages = values + Block::rows * D;
    float grad_key[R][D / 8][4] = {};
    float grad_value[R][D / 8][4] = {};
    const unsigned begin = first_query(tile, call.is_causal);
    const auto turns = static_cast<unsigned>(parts(tile.length - begin, N));  // of one head
    const auto load = [&](unsigned t, unsigned stage) {
        const unsigned head = group * call.sharing + t / turns;
        const unsigned query = begin + t % turns * N;
        const unsigned rows = rows_from(query, tile.length, N);
        Bf16* const queries = stages + stage * Block::stage_elements;
        load_tile<D>(head_rows(op.query, tile, head, size, query, rows), N, queries);
        load_tile<D>(head_rows(op.grad_output, tile, head, size, query, rows), N, queries + N * D);
    };
    const auto use = [&](unsigned t, unsigned stage) {
        const unsigned head = group * call.sharing + t / turns;
        const unsigned query = begin + t % turns * N;
        const Bf16* const queries = stages + stage * Block::stage_elements;
        float scores[R][N / 8][4] = {};
        float grads[R][N / 8][4] = {};
        multiply_tiles<D, R, N>(keys, row, queries, scores);
        multiply_tiles<D, R, N>(values, row, queries + N * D, grads);
        grade_keys<R, N>(call, tile, head, tile.begin + row, query, op.facts_of(tile, head), scores, grads);
        add_weighted_tile<D, R, N>(scores, queries + N * D, grad_value);
        add_weighted_tile<D, R, N>(grads, queries, grad_key);
    };
    load_tile<D>(head_rows(op.key, tile, group, size, tile.begin, tile.rows), Block::rows, keys);
    load_tile<D>(head_rows(op.value, tile, group, size, tile.begin, tile.rows), Block::rows, values);
    use_in_turn(turns * call.sharing, load, use);
    const std::size_t column = std::size_t{group} * size;
    store_tile<D, R>(
        grad_key, [&](unsigned, unsigned) { return call.scale; }, keys, row,
        op.grad_key.row(tile.first_row()) + column, op.grad_key.stride, tile.rows, size);
    store_tile<D, R>(
        grad_value, [&](unsigned, unsigned) { return call.kept_factor; }, values, row,
        op.grad_value.row(tile.first_row()) + column, op.grad_value.stride, tile.rows, size);
}

// Kernels whose blocks have 64 times R rows each, and take N at a time.
template <unsigned D, unsigned R, unsigned N>
void start_grad_query(CudaStream& stream, const AttentionBackward& op, Backward backward) {
    using Block = BackwardBlock<D, R, N>;
    const TileList list = tell_tiles(stream, op.shape, op.query.rows, Block::rows, TileOf::queries);
    backward.tiles = list.tiles;
    start(stream,
          {.blocks_x = list.count * static_cast<unsigned>(op.shape.heads),
           .threads = tensor_threads,
           .shared_bytes = Block::shared_bytes},
          find_grad_query<D, R, N>, backward);
}

template <unsigned D, unsigned R, unsigned N>
void start_grad_key_and_value(CudaStream& stream, const AttentionBackward& op, Backward backward) {
    using Block = BackwardBlock<D, R, N>;
    const TileList list = tell_tiles(stream, op.shape, op.query.rows, Block::rows, TileOf::keys);
    backward.tiles = list.tiles;
    start(stream,
          {.blocks_x = list.count * static_cast<unsigned>(op.shape.groups),
           .threads = tensor_threads,
           .shared_bytes = Block::shared_bytes},
          find_grad_key_and_value<D, R, N>, backward);
}

}  // namespace

void attend_on_tensor_cores(CudaStream& stream, const AttentionBackward& op) {
    const Backward backward{.call = call_of<float>(op.shape, op.query.columns),
                            .tiles = nullptr,
                            .query = elements<Bf16>(op.query),
                            .key = elements<Bf16>(op.key),
                            .value = elements<Bf16>(op.value),
                            .grad_output = elements<Bf16>(op.grad_output),
                            .facts = find_query_facts<Bf16>(stream, op, log2_of_e),
                            .grad_query = elements<Bf16>(op.grad_query),
                            .grad_key = elements<Bf16>(op.grad_key),
                            .grad_value = elements<Bf16>(op.grad_value)};
    if (backward.call.head_size <= 64) {
        start_grad_query<64, 2, 32>(stream, op, backward);
        start_grad_key_and_value<64, 2, 32>(stream, op, backward);
    } else {
        start_grad_query<128, 2, 32>(stream, op, backward);
        start_grad_key_and_value<128, 1, 32>(stream, op, backward);
    }
}

}  // namespace trireme::gpu
