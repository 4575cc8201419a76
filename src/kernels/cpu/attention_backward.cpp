// Recomputes the attention weights from the scores and log_sum, block by block. With the dropout factors m, and
// with delta = grad_output . output for each query:
//   weight = exp(score - log_sum)        grad_value = (m weight)^T grad_output
//   grad_score = weight (m (grad_output value^T) - delta)
//   grad_query = scale grad_score key    grad_key = grad_score^T (scale query)
// (Dao et al., 2022, algorithm 4)
#include <algorithm>

#include "kernels/cpu/attention_block.hpp"
#include "kernels/cpu/attention_dropout_factors.hpp"
#include "kernels/cpu/exponential.hpp"

namespace trireme::kernels {
namespace {

using namespace cpu;

template <class T>
struct Workspace {
    Workspace(std::size_t length, std::size_t channels)
        : keys_transposed(round_up(length, block_rows) * channels),
          values_transposed(round_up(length, block_rows) * channels),
          keys(length * round_up(channels, lanes<T>)),
          grad_keys(length * round_up(channels, lanes<T>)),
          grad_values(length * round_up(channels, lanes<T>)),
          queries(block_rows * round_up(channels, lanes<T>)),
          grad_outputs(block_rows * round_up(channels, lanes<T>)),
          grad_queries(block_rows * round_up(channels, lanes<T>)),
          weights(block_rows * block_rows),
          grad_scores(block_rows * block_rows) {}

    Scratch<T> keys_transposed;    // (blocks, channels, block_rows)
    Scratch<T> values_transposed;  // (blocks, channels, block_rows)
    Scratch<T> keys;               // (length, channels)
    Scratch<T> grad_keys;          // (length, channels)
    Scratch<T> grad_values;        // (length, channels)
    Scratch<T> queries;            // (block_rows, channels), scaled
    Scratch<T> grad_outputs;       // (block_rows, channels)
    Scratch<T> grad_queries;       // (block_rows, channels)
    Scratch<T> weights;            // (block_rows, block_rows): scores, then m weight
    Scratch<T> grad_scores;        // (block_rows, block_rows): gradients of weights, then of scores
    T delta[block_rows];           // grad_output . output of each query
    T log_sum[block_rows];         // one value per query
};

// The backward pass of one key-value head in one segment. It covers all query heads that share the key-value
// head, because they add to the same gradients.
template <class T>
class KeyValueHeadBackward {
public:
    KeyValueHeadBackward(const AttentionBackward& op, const Segment& segment, std::size_t key_value_head,
                         Workspace<T>& work)
        : op_(op),
          segment_(segment),
          key_value_head_(key_value_head),
          channels_(op.query.columns / op.shape.heads),
          stride_(round_up(channels_, lanes<T>)),
          work_(work) {}

    void run() {
        const auto [begin, length, sample] = segment_;
        const std::size_t column = key_value_head_ * channels_;
        pack_transposed(op_.key.as<T>(), begin, length, column, channels_, work_.keys_transposed.data());
        pack_transposed(op_.value.as<T>(), begin, length, column, channels_, work_.values_transposed.data());
        pack_rows(op_.key.as<T>(), begin, length, column, channels_, T{1}, work_.keys.data());
        std::fill_n(work_.grad_keys.data(), length * stride_, T{0});
        std::fill_n(work_.grad_values.data(), length * stride_, T{0});
        const std::size_t sharing_heads = op_.shape.heads / op_.shape.key_value_heads;
        const std::size_t first_head = key_value_head_ * sharing_heads;
        for (std::size_t head = first_head; head < first_head + sharing_heads; ++head) {
            const AttentionDropoutFactors<T> factors(op_.shape.dropout, sample, head);
            for (std::size_t query = 0; query < length; query += block_rows) attend(head, query, factors);
        }
        unpack_rows(work_.grad_keys.data(), length, T{1}, op_.grad_key.as<T>(), begin, column, channels_);
        unpack_rows(work_.grad_values.data(), length, T{1}, op_.grad_value.as<T>(), begin, column, channels_);
    }

private:
    // Computes grad_query of the block of queries that begins at query `begin` of the segment, and adds the
    // contribution of these queries to the gradients of the keys and values.
    void attend(std::size_t head, std::size_t begin, const AttentionDropoutFactors<T>& factors) {
        const std::size_t queries = std::min(block_rows, segment_.length - begin);
        load_queries(head, begin, queries);
        for_each_pair(segment_.length, op_.shape.is_causal, begin, [&](const BlockPair& pair) {
            T* weights = work_.weights.data();
            T* grad_scores = work_.grad_scores.data();
            multiply_visible_keys(pair, work_.queries.data(), stride_,
                                  work_.keys_transposed.data() + pair.key_begin * channels_, channels_,
                                  weights);
            multiply_visible_keys(pair, work_.grad_outputs.data(), stride_,
                                  work_.values_transposed.data() + pair.key_begin * channels_, channels_,
                                  grad_scores);
            for (std::size_t q = 0; q < queries; ++q) differentiate_softmax(pair, q, factors);
            const std::size_t offset = pair.key_begin * stride_;
            add_weighted_queries(pair, weights, work_.grad_outputs.data(), stride_,
                                 work_.grad_values.data() + offset);
            add_weighted_queries(pair, grad_scores, work_.queries.data(), stride_,
                                 work_.grad_keys.data() + offset);
            add_weighted_keys(pair, grad_scores, work_.keys.data() + offset, stride_,
                              work_.grad_queries.data());
        });
        unpack_rows(work_.grad_queries.data(), queries, static_cast<T>(op_.shape.scale), op_.grad_query.as<T>(),
                    segment_.begin + begin, head * channels_, channels_);
    }

    // Packs the queries and their output gradients, sets grad_queries to 0, and computes delta.
    void load_queries(std::size_t head, std::size_t begin, std::size_t queries) {
        const std::size_t row = segment_.begin + begin;
        const std::size_t column = head * channels_;
        const auto output = op_.output.as<T>();
        const auto log_sum = op_.log_sum.as<T>();
        pack_rows(op_.query.as<T>(), row, queries, column, channels_, static_cast<T>(op_.shape.scale),
                  work_.queries.data());
        pack_rows(op_.grad_output.as<T>(), row, queries, column, channels_, T{1}, work_.grad_outputs.data());
        std::fill_n(work_.grad_queries.data(), queries * stride_, T{0});
        for (std::size_t q = 0; q < queries; ++q) {
            const T* out = output.row(row + q) + column;
            if (q + prefetch_distance < queries)
                prefetch<false>(out + prefetch_distance * output.stride, channels_);
            const T* grad = work_.grad_outputs.data() + q * stride_;
            T sum = 0;
#pragma omp simd reduction(+ : sum)
            for (std::size_t c = 0; c < channels_; ++c) sum += out[c] * grad[c];
            work_.delta[q] = sum;
            work_.log_sum[q] = log_sum(row + q, head);
        }
    }

    // For query q, replaces the scores by the weights times the dropout factors, and the gradients of the
    // weights by the gradients of the scores.
    void differentiate_softmax(const BlockPair& pair, std::size_t q,
                               const AttentionDropoutFactors<T>& factors) {
        T* weights = work_.weights.data() + q * block_rows;
        T* grads = work_.grad_scores.data() + q * block_rows;
        const T log_sum = work_.log_sum[q];
        const T delta = work_.delta[q];
        mask_row(weights, pair.count_visible_keys(q));
        if (!factors.is_on()) {
#pragma omp simd
            for (std::size_t k = 0; k < block_rows; ++k) {
                weights[k] = exponential(weights[k] - log_sum);
                grads[k] = weights[k] * (grads[k] - delta);
            }
            return;
        }
        T dropout_factors[block_rows];
        factors.draw(pair.query_begin + q, pair.key_begin, dropout_factors);
#pragma omp simd
        for (std::size_t k = 0; k < block_rows; ++k) {
            const T weight = exponential(weights[k] - log_sum);
            grads[k] = weight * (dropout_factors[k] * grads[k] - delta);
            weights[k] = weight * dropout_factors[k];
        }
    }

    const AttentionBackward& op_;
    const Segment& segment_;
    std::size_t key_value_head_;
    std::size_t channels_;  // channels of one head
    std::size_t stride_;    // elements from one packed row to the next
    Workspace<T>& work_;
};

template <class T>
void attend_backward(int threads, const AttentionBackward& op) {
    const AttentionShape& shape = op.shape;
    clear_padding(shape.segments, op.grad_query.as<T>());
    clear_padding(shape.segments, op.grad_key.as<T>());
    clear_padding(shape.segments, op.grad_value.as<T>());
    for_each_task<Workspace<T>>(
        threads, shape.segments, shape.key_value_heads,
        [&] { return Workspace<T>(find_max_length(shape.segments), op.query.columns / shape.heads); },
        [&](Workspace<T>& work, const Segment& segment, std::size_t key_value_head) {
            KeyValueHeadBackward<T>(op, segment, key_value_head, work).run();
        });
}

}  // namespace

void run(device::CpuStream& stream, const AttentionBackward& op) {
    visit_float(op.query.dtype, [&](auto zero) { attend_backward<decltype(zero)>(stream.threads, op); });
}

}  // namespace trireme::kernels
