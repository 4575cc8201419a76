// Reference implementation: one query and one row of scores at a time, sums in double. For a query q of a head,
// o is the output and do is its gradient. The sums run over the keys k_j that the query attends to, and v_j are
// the values of these keys. p_j are the attention weights, and m_j are their dropout factors:
//   s_j = scale q . k_j
//   log_sum = log sum_j exp(s_j)
//   p_j = exp(s_j - log_sum)
//   o = sum_j p_j m_j v_j
//   ds_j = p_j (m_j (do . v_j) - do . o)
//   dq = scale sum_j ds_j k_j
//   dk_j += scale ds_j q
//   dv_j += p_j m_j do
#include "trireme/kernels/attention.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "trireme/kernels/dropout.hpp"

namespace trireme::kernels {
namespace {

// One query of one head in one segment.
struct Query {
    const AttentionShape& shape;
    const Segment& segment;
    std::size_t head;
    std::size_t position;   // position in the segment
    std::size_t head_size;  // channels

    std::size_t row() const { return segment.begin + position; }
    std::size_t key_row(std::size_t key) const { return segment.begin + key; }
    std::size_t count_keys() const { return shape.is_causal ? position + 1 : segment.length; }
    std::size_t first_column() const { return head * head_size; }
    std::size_t first_key_column() const { return head * shape.key_value_heads / shape.heads * head_size; }

    // Returns the dropout factor of a key's weight: 0 if the weight is dropped, else 1 / (1 - rate).
    double compute_dropout_factor(std::size_t key) const {
        const AttentionDropout& dropout = shape.dropout;
        if (!dropout.is_on()) return 1;
        const RandomBlock block =
            random_block(dropout.key.then(static_cast<std::uint64_t>(segment.sample)),
                         {static_cast<std::uint32_t>(key / 4), static_cast<std::uint32_t>(position),
                          static_cast<std::uint32_t>(dropout.first_head + head), 1});
        return block[key % 4] >= compute_drop_threshold(dropout.rate) ? 1 / (1 - dropout.rate) : 0;
    }
};

template <class Use>
void for_each_query(const AttentionShape& shape, std::size_t columns, Use&& use) {
    for (const Segment& segment : shape.segments) {
        for (std::size_t head = 0; head < shape.heads; ++head) {
            for (std::size_t position = 0; position < segment.length; ++position) {
                use(Query{shape, segment, head, position, columns / shape.heads});
            }
        }
    }
}

template <class T>
double dot(const T* a, const T* b, std::size_t size) {
    double sum = 0;
    for (std::size_t c = 0; c < size; ++c) sum += static_cast<double>(a[c]) * b[c];
    return sum;
}

template <class T>
std::vector<double> compute_scores(const Query& query, const device::ConstTensor& queries,
                                   const device::ConstTensor& keys) {
    const T* q = queries.as<T>().row(query.row()) + query.first_column();
    std::vector<double> scores(query.count_keys());
    for (std::size_t j = 0; j < scores.size(); ++j) {
        const T* k = keys.as<T>().row(query.key_row(j)) + query.first_key_column();
        scores[j] = query.shape.scale * dot(q, k, query.head_size);
    }
    return scores;
}

double compute_log_sum_exp(const std::vector<double>& scores) {
    const double largest = *std::max_element(scores.begin(), scores.end());
    double sum = 0;
    for (const double score : scores) sum += std::exp(score - largest);
    return largest + std::log(sum);
}

template <class T>
void clear(const device::Tensor& tensor) {
    for (std::size_t r = 0; r < tensor.rows; ++r) std::fill_n(tensor.as<T>().row(r), tensor.columns, T{0});
}

template <class T>
void forward(const Attention& op, const Query& query) {
    std::vector<double> weights = compute_scores<T>(query, op.query, op.key);
    const double log_sum = compute_log_sum_exp(weights);
    for (std::size_t j = 0; j < weights.size(); ++j) {
        weights[j] = std::exp(weights[j] - log_sum) * query.compute_dropout_factor(j);
    }
    const auto value = op.value.as<T>();
    T* output = op.output.as<T>().row(query.row()) + query.first_column();
    for (std::size_t c = 0; c < query.head_size; ++c) {
        double sum = 0;
        for (std::size_t j = 0; j < weights.size(); ++j) {
            sum += weights[j] * value(query.key_row(j), query.first_key_column() + c);
        }
        output[c] = static_cast<T>(sum);
    }
    op.log_sum.as<T>()(query.row(), query.head) = static_cast<T>(log_sum);
}

// Accumulated gradients of the backward pass, contiguous and in double.
struct Gradients {
    explicit Gradients(const AttentionBackward& op)
        : query(op.query.size()), key(op.key.size()), value(op.value.size()) {}

    std::vector<double> query;  // (rows, heads * head size)
    std::vector<double> key;    // (rows, key_value_heads * head size)
    std::vector<double> value;  // (rows, key_value_heads * head size)
};

template <class T>
void backward(const AttentionBackward& op, const Query& query, Gradients& sums) {
    const auto key = op.key.as<T>();
    const auto value = op.value.as<T>();
    const std::size_t column = query.first_column();
    const std::size_t key_column = query.first_key_column();
    const T* q = op.query.as<T>().row(query.row()) + column;
    const T* grad_output = op.grad_output.as<T>().row(query.row()) + column;
    const T* output = op.output.as<T>().row(query.row()) + column;
    const double log_sum = op.log_sum.as<T>()(query.row(), query.head);
    const double delta = dot(grad_output, output, query.head_size);

    const std::vector<double> scores = compute_scores<T>(query, op.query, op.key);
    double* grad_query = sums.query.data() + query.row() * op.query.columns + column;
    for (std::size_t j = 0; j < scores.size(); ++j) {
        const std::size_t row = query.key_row(j);
        const double weight = std::exp(scores[j] - log_sum);
        const double factor = query.compute_dropout_factor(j);
        const double grad_weight = factor * dot(grad_output, value.row(row) + key_column, query.head_size);
        const double grad_score = query.shape.scale * weight * (grad_weight - delta);  // scale ds_j
        double* grad_key = sums.key.data() + row * key.columns + key_column;
        double* grad_value = sums.value.data() + row * value.columns + key_column;
        for (std::size_t c = 0; c < query.head_size; ++c) {
            grad_query[c] += grad_score * key(row, key_column + c);
            grad_key[c] += grad_score * q[c];
            grad_value[c] += weight * factor * grad_output[c];
        }
    }
}

template <class T>
void store(const std::vector<double>& sums, const device::Tensor& tensor) {
    for (std::size_t r = 0; r < tensor.rows; ++r) {
        for (std::size_t c = 0; c < tensor.columns; ++c) {
            tensor.as<T>()(r, c) = static_cast<T>(sums[r * tensor.columns + c]);
        }
    }
}

}  // namespace

void run(device::ReferenceStream&, const Attention& op) {
    visit_float(op.query.dtype, [&](auto zero) {
        using T = decltype(zero);
        clear<T>(op.output);  // for the rows outside all segments
        clear<T>(op.log_sum);
        for_each_query(op.shape, op.query.columns, [&](const Query& query) { forward<T>(op, query); });
    });
}

void run(device::ReferenceStream&, const AttentionBackward& op) {
    visit_float(op.query.dtype, [&](auto zero) {
        using T = decltype(zero);
        Gradients sums(op);
        for_each_query(op.shape, op.query.columns, [&](const Query& query) { backward<T>(op, query, sums); });
        store<T>(sums.query, op.grad_query);
        store<T>(sums.key, op.grad_key);
        store<T>(sums.value, op.grad_value);
    });
}

}  // namespace trireme::kernels
