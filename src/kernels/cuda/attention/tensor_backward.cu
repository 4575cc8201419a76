// Gradients of attention on tensor cores, with the equations of attention_backward.cu. In one kernel, a block
// has 64 R queries of one head and visits the tiles of keys that they attend to. In the other, it has 64 R keys
// of one key-value head and visits the tiles of queries that attend to them, head by head. Each sum is computed
// by a single block. The scores of the second kernel are transposed, so that the next left factor is already in
// registers in the layout of tensor cores. (Dao, 2023)
#include "kernels/cuda/attention/attention_paths.hpp"
#include "kernels/cuda/attention/tensor_scores.cuh"

namespace trireme::kernels::gpu {
namespace {

struct Backward {
    AttentionCall<float> call;
    const AttentionTile* tiles;
    device::Elements<const device::Bf16> query, key, value, grad_output;
    const QueryFacts<float>* facts;  // (heads, rows), with log_sum to base 2
    device::Elements<device::Bf16> grad_query, grad_key, grad_value;

    __device__ const QueryFacts<float>* facts_of(const AttentionTile& tile, unsigned head) const {
        return facts + head * query.rows + tile.segment;
    }
};

// D: columns of a tile, at least the head size. R: tiles of 16 rows per warp. N: rows of a streamed tile. S:
// rows of it that are processed at a time, to save registers. Left: left factors in shared memory or in
// registers. Shared memory holds two resident tiles, and two stages of two streamed tiles. Streamed queries
// have their facts with them.
template <unsigned D, unsigned R, unsigned N>
struct BackwardBlock {
    static constexpr unsigned rows = 16 * R * tensor_warps;
    static constexpr unsigned stage_elements = 2 * N * D;
    static constexpr std::size_t shared_bytes = (2 * rows * D + 2 * stage_elements) * sizeof(device::Bf16);
};

// Replaces a score by its weight times 1 or 0 for dropout, and `grad` by the gradient of the score. Both lack
// their constant factor, which is applied when the sums are stored.
__device__ inline void grade(float factor, float kept_factor, bool is_kept, const QueryFacts<float>& facts,
                             float& score, float& grad) {
    const float weight = power_of_two(score * factor - facts.log_sum);
    grad = weight * (kept_factor * (is_kept ? grad : 0.0F) - facts.delta);
    score = is_kept ? weight : 0.0F;
}

// The queries of a warp as rows, with the facts of the lane's queries.
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

// Calls grade() for a warp's row tile. facts_of(n, e) returns the facts of an element's query; kept.has(n, e)
// is true if its weight is kept.
template <unsigned N, class FactsOf, class Kept>
__device__ void grade_row_tile(const AttentionCall<float>& call, FactsOf&& facts_of, const Kept& kept,
                               float (&scores)[N / 8][4], float (&grads)[N / 8][4]) {
    const float factor = call.scale * log2_of_e;
#pragma unroll
    for (unsigned n = 0; n < N / 8; ++n)
#pragma unroll
        for (unsigned e = 0; e < 4; ++e)
            grade(factor, call.kept_factor, kept.has(n, e), facts_of(n, e), scores[n][e], grads[n][e]);
}

template <bool drops, unsigned R, unsigned N>
__device__ void grade_queries(const AttentionCall<float>& call, const AttentionTile& tile, unsigned head,
                              const QueryRows<R>& own, unsigned key, float (&scores)[R][N / 8][4],
                              float (&grads)[R][N / 8][4]) {
    using Kept = std::conditional_t<drops, KeptOfQueries<N>, AllKept>;
#pragma unroll
    for (unsigned r = 0; r < R; ++r) {
        const auto facts_of = [&](unsigned, unsigned e) { return own.facts[r][e / 2]; };
        const Kept kept(call, tile, head, own.first + 16 * r, key);
        grade_row_tile<N>(call, facts_of, kept, scores[r], grads[r]);
    }
}

// Calls grade() for rows that are keys. `facts` are those of the tile's queries, in shared memory.
template <bool drops, unsigned R, unsigned N>
__device__ void grade_keys(const AttentionCall<float>& call, const AttentionTile& tile, unsigned head,
                           const SeeingQueries<R, N>& seeing, const QueryFacts<float>* facts,
                           float (&scores)[R][N / 8][4], float (&grads)[R][N / 8][4]) {
    using Kept = std::conditional_t<drops, KeptOfKeys<N>, AllKept>;
    const unsigned lane = own_lane();
    const auto facts_of = [&](unsigned n, unsigned e) { return facts[column_of(n, e, lane)]; };
#pragma unroll
    for (unsigned r = 0; r < R; ++r) {
        const Kept kept(call, tile, head, seeing.key + 16 * r, seeing.query);
        grade_row_tile<N>(call, facts_of, kept, scores[r], grads[r]);
    }
}

template <unsigned D, unsigned R, unsigned N, class Left, bool drops>
__global__ void __launch_bounds__(tensor_threads) find_grad_query(Backward op) {
    using Block = BackwardBlock<D, R, N>;
    const AttentionCall<float>& call = op.call;
    const AttentionTile tile = op.tiles[blockIdx.x / call.heads];
    const unsigned head = blockIdx.x % call.heads;
    const unsigned size = call.head_size;
    const unsigned row = 16 * R * (threadIdx.x / warp_size);  // first row of the warp
    device::Bf16* const queries = shared_memory<device::Bf16>();
    device::Bf16* const grad_outputs = queries + Block::rows * D;
    device::Bf16* const stages = grad_outputs + Block::rows * D;
    const QueryRows<R> own(op, tile, head, row);
    Left own_queries(queries, row);
    Left own_grads(grad_outputs, row);
    float sums[R][D / 8][4] = {};
    const unsigned end = seen_keys(tile, call.is_causal);
    const ChunkRows all_keys = head_rows(op.key, tile, head / call.sharing, size, 0, end);
    const ChunkRows all_values = head_rows(op.value, tile, head / call.sharing, size, 0, end);
    const auto load = [&](unsigned t, unsigned stage) {
        device::Bf16* const keys = stages + stage * Block::stage_elements;
        load_tile<D, N>(all_keys.from(t * N), keys);
        load_tile<D, N>(all_values.from(t * N), keys + N * D);
    };
    const auto begin = [&] {
        own_queries.load();
        own_grads.load();
    };
    const auto use = [&](unsigned t, unsigned stage) {
        const SeenKeys<R, N> seen{own.first, t * N, tile.length, call.is_causal};
        if (row >= tile.rows || seen.are_none()) return;
        const device::Bf16* const keys = stages + stage * Block::stage_elements;
        float scores[R][N / 8][4] = {};
        float grads[R][N / 8][4] = {};
        multiply_tiles<D, R, N>(own_queries, keys, scores);
        multiply_tiles<D, R, N>(own_grads, keys + N * D, grads);
        mask(seen, scores);
        grade_queries<drops, R, N>(call, tile, head, own, t * N, scores, grads);
        add_weighted_tile<D, R, N>(grads, keys, sums);
    };
    const unsigned own_end = tile.begin + tile.rows;
    load_tile<D, Block::rows>(head_rows(op.query, tile, head, size, tile.begin, own_end), queries);
    load_tile<D, Block::rows>(head_rows(op.grad_output, tile, head, size, tile.begin, own_end), grad_outputs);
    use_in_turn(static_cast<unsigned>(parts(end, N)), load, begin, use);
    store_tile<D, R>(
        sums, [&](unsigned, unsigned) { return call.scale; }, queries, row,
        op.grad_query.row(tile.first_row()) + std::size_t{head} * size, op.grad_query.stride, tile.rows, size);
}

// Queries of one head in shared memory, with their facts.
struct QueriesThere {
    unsigned head;
    const device::Bf16* queries;
    const device::Bf16* grad_outputs;
    const QueryFacts<float>* facts;
};

// The keys of a warp as rows, with the sums of their gradients.
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
    template <bool drops, unsigned S>
    __device__ void add(const AttentionCall<float>& call, const AttentionTile& tile,
                        const SeeingQueries<R, S>& seeing, const QueriesThere& there) {
        if (seeing.are_none()) return;
        float scores[R][S / 8][4] = {};
        float grads[R][S / 8][4] = {};
        multiply_tiles<D, R, S>(keys, there.queries, scores);
        multiply_tiles<D, R, S>(values, there.grad_outputs, grads);
        mask(seeing, scores);
        grade_keys<drops>(call, tile, there.head, seeing, there.facts, scores, grads);
        add_weighted_tile<D, R, S>(scores, there.grad_outputs, grad_value);
        add_weighted_tile<D, R, S>(grads, there.queries, grad_key);
    }
};

// Starts the asynchronous load of the facts of the first N queries, with zeros from `count` on.
template <unsigned N>
__device__ void load_facts(const QueryFacts<float>* from, unsigned count, QueryFacts<float>* facts) {
    static_assert(N <= tensor_threads);
    const unsigned i = threadIdx.x;
    if (i < N) copy_async<sizeof(QueryFacts<float>)>(facts + i, from + i, i < count);
}

template <unsigned D, unsigned R, unsigned N, unsigned S, class Left, bool drops>
__global__ void __launch_bounds__(tensor_threads) find_grad_key_and_value(Backward op) {
    using Block = BackwardBlock<D, R, N>;
    const AttentionCall<float>& call = op.call;
    const unsigned groups = call.heads / call.sharing;
    const AttentionTile tile = op.tiles[blockIdx.x / groups];
    const unsigned group = blockIdx.x % groups;
    const unsigned size = call.head_size;
    const unsigned row = 16 * R * (threadIdx.x / warp_size);  // first row of the warp
    device::Bf16* const keys = shared_memory<device::Bf16>();
    device::Bf16* const values = keys + Block::rows * D;
    device::Bf16* const stages = values + Block::rows * D;
    auto* const facts = reinterpret_cast<QueryFacts<float>*>(stages + 2 * Block::stage_elements);
    KeyRows<D, R, Left> own(keys, values, row);
    const unsigned begin = first_query(tile, call.is_causal);
    const auto turns = static_cast<unsigned>(parts(tile.length - begin, N));  // per head
    QueryTurn loaded{group * call.sharing, begin};
    QueryTurn used = loaded;
    const auto load = [&](unsigned, unsigned stage) {
        const auto [head, query] = loaded;
        device::Bf16* const queries = stages + stage * Block::stage_elements;
        load_tile<D, N>(head_rows(op.query, tile, head, size, query, tile.length), queries);
        load_tile<D, N>(head_rows(op.grad_output, tile, head, size, query, tile.length), queries + N * D);
        load_facts<N>(op.facts_of(tile, head) + query, tile.length - query, facts + stage * N);
        loaded.advance(N, begin, tile.length);
    };
    const auto use = [&](unsigned, unsigned stage) {
        const auto [head, query] = used;
        used.advance(N, begin, tile.length);
        if (row >= tile.rows) return;
        const device::Bf16* const queries = stages + stage * Block::stage_elements;
#pragma unroll
        for (unsigned part = 0; part < N; part += S) {
            own.template add<drops, S>(
                call, tile, {tile.begin + row, query + part, call.is_causal},
                {head, queries + part * D, queries + (N + part) * D, facts + stage * N + part});
        }
    };
    const unsigned own_end = tile.begin + tile.rows;
    load_tile<D, Block::rows>(head_rows(op.key, tile, group, size, tile.begin, own_end), keys);
    load_tile<D, Block::rows>(head_rows(op.value, tile, group, size, tile.begin, own_end), values);
    use_in_turn(
        turns * call.sharing, load, [&] { own.load(); }, use);
    const std::size_t column = std::size_t{group} * size;
    store_tile<D, R>(
        own.grad_key, [&](unsigned, unsigned) { return call.scale; }, keys, row,
        op.grad_key.row(tile.first_row()) + column, op.grad_key.stride, tile.rows, size);
    store_tile<D, R>(
        own.grad_value, [&](unsigned, unsigned) { return call.kept_factor; }, values, row,
        op.grad_value.row(tile.first_row()) + column, op.grad_value.stride, tile.rows, size);
}

// Launches find_grad_query() with blocks of 64 R queries and tiles of N keys.
template <unsigned D, unsigned R, unsigned N, class Left>
void start_grad_query(device::CudaStream& stream, const AttentionBackward& op, Backward backward) {
    using Block = BackwardBlock<D, R, N>;
    const TileList list = tell_tiles(stream, op.shape, op.query.rows, Block::rows, TileOf::queries);
    backward.tiles = list.tiles;
    start(stream,
          {.blocks_x = list.count * static_cast<unsigned>(op.shape.heads),
           .threads = tensor_threads,
           .shared_bytes = Block::shared_bytes},
          backward.call.drops ? find_grad_query<D, R, N, Left, true> : find_grad_query<D, R, N, Left, false>,
          backward);
}

template <unsigned D, unsigned R, unsigned N, unsigned S, class Left>
void start_grad_key_and_value(device::CudaStream& stream, const AttentionBackward& op, Backward backward) {
    using Block = BackwardBlock<D, R, N>;
    const TileList list = tell_tiles(stream, op.shape, op.query.rows, Block::rows, TileOf::keys);
    backward.tiles = list.tiles;
    start(stream,
          {.blocks_x = list.count * static_cast<unsigned>(op.shape.groups),
           .threads = tensor_threads,
           .shared_bytes = Block::shared_bytes + 2 * N * sizeof(QueryFacts<float>)},
          backward.call.drops ? find_grad_key_and_value<D, R, N, S, Left, true>
                              : find_grad_key_and_value<D, R, N, S, Left, false>,
          backward);
}

}  // namespace

void attend_on_tensor_cores(device::CudaStream& stream, const AttentionBackward& op) {
    const Backward backward{.call = call_of<float>(op.shape, op.query.columns),
                            .tiles = nullptr,
                            .query = elements<device::Bf16>(op.query),
                            .key = elements<device::Bf16>(op.key),
                            .value = elements<device::Bf16>(op.value),
                            .grad_output = elements<device::Bf16>(op.grad_output),
                            .facts = find_query_facts<device::Bf16>(stream, op, log2_of_e),
                            .grad_query = elements<device::Bf16>(op.grad_query),
                            .grad_key = elements<device::Bf16>(op.grad_key),
                            .grad_value = elements<device::Bf16>(op.grad_value)};
    if (backward.call.head_size <= 64) {
        start_grad_query<64, 2, 32, LeftInRegisters<64, 2>>(stream, op, backward);
        start_grad_key_and_value<64, 2, 32, 16, LeftInRegisters<64, 2>>(stream, op, backward);
    } else {
        start_grad_query<128, 2, 32, LeftInTile<128>>(stream, op, backward);
        start_grad_key_and_value<128, 1, 32, 16, LeftInRegisters<128, 1>>(stream, op, backward);
    }
}

}  // namespace trireme::kernels::gpu
