// Span losses and best spans, for all backends that use host memory. There are only two logits per row, so
// plain loops on one thread are fast enough.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/index_check.hpp"
#include "trireme/kernels/span_loss.hpp"

namespace trireme::kernels {

// One column of the logits within one segment. Rows are counted from the segment's begin.
template <class T>
struct SegmentColumn {
    device::Elements<T> logits;
    std::size_t column;
    Segment segment;

    T& operator[](std::size_t row) const { return logits(segment.begin + row, column); }
    std::size_t rows() const { return segment.length; }
};

// Returns log(sum exp(x)) over all rows of x. The caller ensures that x has at least one row.
template <class T>
double compute_log_sum_exp(const SegmentColumn<T>& x) {
    double largest = x[0];
    for (std::size_t r = 1; r < x.rows(); ++r) largest = std::max(largest, static_cast<double>(x[r]));
    double sum = 0;
    for (std::size_t r = 0; r < x.rows(); ++r) sum += std::exp(x[r] - largest);
    return largest + std::log(sum);
}

// Returns the cross-entropy of one boundary (first or last row) of an answer; `answer_row` is the correct row.
// If `gradient_scale` is not 0, overwrites x with `gradient_scale` times the gradient of x.
template <class T>
double compute_boundary_loss(const SegmentColumn<T>& x, std::size_t answer_row, double gradient_scale) {
    const double log_sum = compute_log_sum_exp(x);
    const double loss = log_sum - x[answer_row];
    if (gradient_scale == 0) return loss;
    for (std::size_t r = 0; r < x.rows(); ++r) {
        const double error = std::exp(x[r] - log_sum) - (r == answer_row ? 1 : 0);
        x[r] = static_cast<T>(gradient_scale * error);
    }
    return loss;
}

// Returns the loss of segment s. If op.gradient_scale is not 0, overwrites the segment's logits with gradients.
template <class T>
double compute_span_loss(const SpanLoss& op, std::size_t s) {
    const std::int32_t* answer = op.answers.as<std::int32_t>().row(s);
    double loss_sum = 0;
    for (std::size_t boundary = 0; boundary < 2; ++boundary) {
        const SegmentColumn<T> x{op.logits.as<T>(), boundary, op.segments[s]};
        loss_sum += compute_boundary_loss(x, static_cast<std::size_t>(answer[boundary]), op.gradient_scale / 2);
    }
    return loss_sum / 2;
}

// Computes the losses of all segments and, if op.gradient_scale is not 0, overwrites the logits with gradients.
template <class T>
void process_segments(const SpanLoss& op) {
    const auto logits = op.logits.as<T>();
    std::vector<bool> has_answer(logits.rows);
    for (std::size_t s = 0; s < op.segments.size(); ++s) {
        double& loss = op.losses.as<double>()[s];
        loss = 0;
        if (op.answers.as<std::int32_t>()(s, 0) == no_target) continue;
        loss = compute_span_loss<T>(op, s);
        std::fill_n(has_answer.begin() + static_cast<std::ptrdiff_t>(op.segments[s].begin),
                    op.segments[s].length, true);
    }
    if (op.gradient_scale == 0) return;
    for (std::size_t r = 0; r < logits.rows; ++r) {
        if (!has_answer[r]) std::fill_n(logits.row(r), logits.columns, T{0});
    }
}

// First and last row of an answer; (-1, -1) if there is no answer.
struct RowPair {
    std::int32_t first = -1;
    std::int32_t last = -1;
};

// Returns the answer with the largest sum first_logits[first] + last_logits[last]. The answer lies within the
// rows [begin, end) and has at most `max_rows` rows. If the sum of (begin, begin) is NaN, returns that pair.
template <class T>
RowPair find_best_pair(const SegmentColumn<const T>& first_logits, const SegmentColumn<const T>& last_logits,
                       std::size_t begin, std::size_t end, std::size_t max_rows) {
    double best_sum = 0;
    RowPair best;
    for (std::size_t first = begin; first < end; ++first) {
        const std::size_t limit = first + std::min(max_rows, end - first);
        for (std::size_t last = first; last < limit; ++last) {
            const double sum =
                static_cast<double>(first_logits[first]) + static_cast<double>(last_logits[last]);
            if (best.first >= 0 && !(sum > best_sum)) continue;
            best_sum = sum;
            best = {static_cast<std::int32_t>(first), static_cast<std::int32_t>(last)};
        }
    }
    return best;
}

template <class T>
void process_segments(const BestSpan& op) {
    const auto logits = op.logits.as<T>();
    for (std::size_t s = 0; s < op.segments.size(); ++s) {
        const std::int32_t* context = op.contexts.as<std::int32_t>().row(s);
        RowPair best;
        if (context[0] < context[1]) {
            best = find_best_pair<T>({logits, 0, op.segments[s]}, {logits, 1, op.segments[s]},
                                     static_cast<std::size_t>(context[0]), static_cast<std::size_t>(context[1]),
                                     op.max_rows);
        }
        op.choices.as<std::int32_t>()(s, 0) = best.first;
        op.choices.as<std::int32_t>()(s, 1) = best.last;
    }
}

// Implements run() of SpanLoss and BestSpan.
template <class Op>
void run_spans(const Op& op) {
    check_indices(op);
    device::visit_float(op.logits.dtype, [&](auto zero) { process_segments<decltype(zero)>(op); });
}

}  // namespace trireme::kernels
