// Computes the softmax over one block of keys at a time. If a block has a score that is larger than all earlier
// scores, the earlier sums are rescaled. (Milakov and Gimelshein, 2018; Dao et al., 2022)
#include <algorithm>
#include <cmath>

#include "kernels/cpu/attention_block.hpp"
#include "kernels/cpu/attention_dropout_factors.hpp"
#include "kernels/cpu/exponential.hpp"

namespace trireme::kernels {
namespace {

using namespace cpu;

template <class T>
struct Workspace {
    Workspace(std::size_t length, std::size_t channels)
        : keys(round_up(length, block_rows) * channels),
          values(length * round_up(channels, lanes<T>)),
          queries(block_rows * round_up(channels, lanes<T>)),
          outputs(block_rows * round_up(channels, lanes<T>)),
          weights(block_rows * block_rows) {}

    Scratch<T> keys;        // (blocks, channels, block_rows): transposed
    Scratch<T> values;      // (length, channels)
    Scratch<T> queries;     // (block_rows, channels), scaled
    Scratch<T> outputs;     // (block_rows, channels), before the division by the sum
    Scratch<T> weights;     // (block_rows, block_rows): scores, then weights
    T largest[block_rows];  // largest score of each query so far
    T sum[block_rows];      // sum of the weights of each query so far, before dropout
};

// Forward pass of one head in one segment.
template <class T>
class ForwardHead {
public:
    ForwardHead(const Attention& op, const Segment& segment, std::size_t head, Workspace<T>& work)
        : op_(op),
          segment_(segment),
          head_(head),
          channels_(op.query.columns / op.shape.heads),
          stride_(round_up(channels_, lanes<T>)),
          factors_(op.shape.dropout, segment.sample, head),
          work_(work) {}

    void run() {
        const std::size_t column = head_ * op_.shape.key_value_heads / op_.shape.heads * channels_;
        pack_transposed(op_.key.as<T>(), segment_.begin, segment_.length, column, channels_, work_.keys.data());
        pack_rows(op_.value.as<T>(), segment_.begin, segment_.length, column, channels_, T{1},
                  work_.values.data());
        for (std::size_t begin = 0; begin < segment_.length; begin += block_rows) {
            attend(begin, std::min(block_rows, segment_.length - begin));
        }
    }

private:
    void attend(std::size_t begin, std::size_t queries) {
        pack_rows(op_.query.as<T>(), segment_.begin + begin, queries, head_ * channels_, channels_,
                  static_cast<T>(op_.shape.scale), work_.queries.data());
        std::fill_n(work_.outputs.data(), queries * stride_, T{0});
        std::fill_n(work_.largest, queries, std::numeric_limits<T>::lowest());
        std::fill_n(work_.sum, queries, T{0});
        for_each_pair(segment_.length, op_.shape.is_causal, begin, [&](const BlockPair& pair) {
            multiply_visible_keys(pair, work_.queries.data(), stride_,
                                  work_.keys.data() + pair.key_begin * channels_, channels_,
                                  work_.weights.data());
            for (std::size_t q = 0; q < queries; ++q) weigh(pair, q);
            add_weighted_keys(pair, work_.weights.data(), work_.values.data() + pair.key_begin * stride_,
                              stride_, work_.outputs.data());
        });
        store(begin, queries);
    }

    // For query q, replaces each score by the weight exp(score - largest score so far). Rescales the earlier
    // sums if the largest score has grown.
    void weigh(const BlockPair& pair, std::size_t q) {
        T* row = work_.weights.data() + q * block_rows;
        mask_row(row, pair.count_visible_keys(q));
        const T earlier_largest = work_.largest[q];
        T largest = earlier_largest;
#pragma omp simd reduction(max : largest)
        for (std::size_t k = 0; k < block_rows; ++k) largest = row[k] > largest ? row[k] : largest;
        T sum = 0;
#pragma omp simd reduction(+ : sum)
        for (std::size_t k = 0; k < block_rows; ++k) {
            row[k] = exponential(row[k] - largest);
            sum += row[k];
        }
        if (pair.key_begin > 0 && largest > earlier_largest) rescale(q, exponential(earlier_largest - largest));
        work_.largest[q] = largest;
        work_.sum[q] += sum;
        if (factors_.is_on()) apply_dropout(pair, q, row);
    }

    void rescale(std::size_t q, T factor) {
        work_.sum[q] *= factor;
        T* output = work_.outputs.data() + q * stride_;
#pragma omp simd
        for (std::size_t c = 0; c < stride_; ++c) output[c] *= factor;
    }

    void apply_dropout(const BlockPair& pair, std::size_t q, T* row) const {
        T factors[block_rows];
        factors_.draw(pair.query_begin + q, pair.key_begin, factors);
#pragma omp simd
        for (std::size_t k = 0; k < block_rows; ++k) row[k] *= factors[k];
    }

    void store(std::size_t begin, std::size_t queries) const {
        const auto output = op_.output.as<T>();
        const auto log_sum = op_.log_sum.as<T>();
        for (std::size_t q = 0; q < queries; ++q) {
            const std::size_t row = segment_.begin + begin + q;
            const T* from = work_.outputs.data() + q * stride_;
            T* to = output.row(row) + head_ * channels_;
            if (q + prefetch_distance < queries)
                prefetch<true>(to + prefetch_distance * output.stride, channels_);
            const T factor = 1 / work_.sum[q];
#pragma omp simd
            for (std::size_t c = 0; c < channels_; ++c) to[c] = factor * from[c];
            log_sum(row, head_) = work_.largest[q] + std::log(work_.sum[q]);
        }
    }

    const Attention& op_;
    const Segment& segment_;
    std::size_t head_;
    std::size_t channels_;  // channels of one head
    std::size_t stride_;    // elements from one packed row to the next
    AttentionDropoutFactors<T> factors_;
    Workspace<T>& work_;
};

template <class T>
void attend(int threads, const Attention& op) {
    const AttentionShape& shape = op.shape;
    clear_padding(shape.segments, op.output.as<T>());
    clear_padding(shape.segments, op.log_sum.as<T>());
    for_each_task<Workspace<T>>(
        threads, shape.segments, shape.heads,
        [&] { return Workspace<T>(find_max_length(shape.segments), op.query.columns / shape.heads); },
        [&](Workspace<T>& work, const Segment& segment, std::size_t head) {
            ForwardHead<T>(op, segment, head, work).run();
        });
}

}  // namespace

void run(device::CpuStream& stream, const Attention& op) {
    visit_float(op.query.dtype, [&](auto zero) { attend<decltype(zero)>(stream.threads, op); });
}

}  // namespace trireme::kernels
