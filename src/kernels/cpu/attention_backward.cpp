// Recomputes the weights from the scores and log_sum, block by block. With m the dropout factors, and
// delta = grad_output . output for each query:
//   weight = exp(score - log_sum)        grad_value = (m weight)^T grad_output
//   grad_score = weight (m (grad_output value^T) - delta)
//   grad_query = scale grad_score key    grad_key = grad_score^T (scale query)
// (Dao et al., 2022, algorithm 4)
#include <algorithm>

#include "kernels/cpu/attention_block.hpp"
#include "kernels/cpu/exponential.hpp"
#include "kernels/cpu/weight_factors.hpp"

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
    T delta[block_rows];
    T log_sum[block_rows];
};

// The query heads that share one key-value head, in one segment. They add to the same gradients.
template <class T>
class BackwardGroup {
public:
    BackwardGroup(const AttentionBackward& op, const Segment& segment, std::size_t group, Workspace<T>& work)
        : op_(op),
          segment_(segment),
          group_(group),
          channels_(op.query.columns / op.shape.heads),
          stride_(round_up(channels_, lanes<T>)),
          work_(work) {}

    void run() {
        const auto [begin, length, sample] = segment_;
        const std::size_t column = group_ * channels_;
        pack_transposed(op_.key.as<T>(), begin, length, column, channels_, work_.keys_transposed.data());
        pack_transposed(op_.value.as<T>(), begin, length, column, channels_, work_.values_transposed.data());
        pack_rows(op_.key.as<T>(), begin, length, column, channels_, T{1}, work_.keys.data());
        std::fill_n(work_.grad_keys.data(), length * stride_, T{0});
        std::fill_n(work_.grad_values.data(), length * stride_, T{0});
        const std::size_t heads = op_.shape.heads / op_.shape.groups;
        for (std::size_t head = group_ * heads; head < (group_ + 1) * heads; ++head) {
            const WeightFactors<T> factors(op_.shape.dropout, sample, head);
            for (std::size_t query = 0; query < length; query += block_rows) attend(head, query, factors);
        }
        unpack_rows(work_.grad_keys.data(), length, T{1}, op_.grad_key.as<T>(), begin, column, channels_);
        unpack_rows(work_.grad_values.data(), length, T{1}, op_.grad_value.as<T>(), begin, column, channels_);
    }

private:
    void attend(std::size_t head, std::size_t begin, const WeightFactors<T>& factors) {
        const std::size_t queries = std::min(block_rows, segment_.length - begin);
        load(head, begin, queries);
        for_each_pair(segment_.length, op_.shape.is_causal, begin, [&](const BlockPair& pair) {
            T* weights = work_.weights.data();
            T* grad_scores = work_.grad_scores.data();
            multiply_seen(pair, work_.queries.data(), stride_,
                          work_.keys_transposed.data() + pair.key_begin * channels_, channels_, weights);
            multiply_seen(pair, work_.grad_outputs.data(), stride_,
                          work_.values_transposed.data() + pair.key_begin * channels_, channels_, grad_scores);
            for (std::size_t q = 0; q < queries; ++q) grade(pair, q, factors);
            const std::size_t place = pair.key_begin * stride_;
            add_weighted_queries(pair, weights, work_.grad_outputs.data(), stride_,
                                 work_.grad_values.data() + place);
            add_weighted_queries(pair, grad_scores, work_.queries.data(), stride_,
                                 work_.grad_keys.data() + place);
            add_weighted_keys(pair, grad_scores, work_.keys.data() + place, stride_, work_.grad_queries.data());
        });
        unpack_rows(work_.grad_queries.data(), queries, static_cast<T>(op_.shape.scale), op_.grad_query.as<T>(),
                    segment_.begin + begin, head * channels_, channels_);
    }

    void load(std::size_t head, std::size_t begin, std::size_t queries) {
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
            if (q + rows_ahead < queries) call_up<false>(out + rows_ahead * output.stride, channels_);
            const T* grad = work_.grad_outputs.data() + q * stride_;
            T sum = 0;
#pragma omp simd reduction(+ : sum)
            for (std::size_t c = 0; c < channels_; ++c) sum += out[c] * grad[c];
            work_.delta[q] = sum;
            work_.log_sum[q] = log_sum(row + q, head);
        }
    }

    // Replaces one query's scores by its weights, and the gradients of the weights by those of the scores.
    void grade(const BlockPair& pair, std::size_t q, const WeightFactors<T>& factors) {
        T* weights = work_.weights.data() + q * block_rows;
        T* grads = work_.grad_scores.data() + q * block_rows;
        const T log_sum = work_.log_sum[q];
        const T delta = work_.delta[q];
        mask_row(weights, pair.keys_seen(q));
        if (!factors.is_on()) {
#pragma omp simd
            for (std::size_t k = 0; k < block_rows; ++k) {
                weights[k] = exponential(weights[k] - log_sum);
                grads[k] = weights[k] * (grads[k] - delta);
            }
            return;
        }
        T kept[block_rows];
        factors.draw(pair.query_begin + q, pair.key_begin, kept);
#pragma omp simd
        for (std::size_t k = 0; k < block_rows; ++k) {
            const T weight = exponential(weights[k] - log_sum);
            grads[k] = weight * (kept[k] * grads[k] - delta);
            weights[k] = weight * kept[k];
        }
    }

    const AttentionBackward& op_;
    const Segment& segment_;
    std::size_t group_;
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
        threads, shape.segments, shape.groups,
        [&] { return Workspace<T>(longest(shape.segments), op.query.columns / shape.heads); },
        [&](Workspace<T>& work, const Segment& segment, std::size_t group) {
            BackwardGroup<T>(op, segment, group, work).run();
        });
}

}  // namespace

void run(device::CpuStream& stream, const AttentionBackward& op) {
    visit_float(op.query.dtype, [&](auto zero) { attend_backward<decltype(zero)>(stream.threads, op); });
}

}  // namespace trireme::kernels
