// Shape checks and costs of the operations CrossEntropy, SpanLoss and BestSpan.

#include "kernels/index_check.hpp"
#include "kernels/shape_check.hpp"
#include "trireme/kernels/cross_entropy.hpp"
#include "trireme/kernels/span_loss.hpp"

namespace trireme::kernels {

void CrossEntropy::check() const {
    const ShapeCheck check("cross_entropy", logits.dtype);
    check.require_matrix("logits", logits, logits.rows, logits.columns);
    check.demand(logits.columns > 0, "logits has no columns, but a vocabulary has at least one token");
    check.require_vector(device::DType::i32, "targets", targets, logits.rows);
    check.require_vector(device::DType::f64, "losses", losses, logits.rows);
    if (choices.is_present()) check.require_vector(device::DType::i32, "choices", choices, logits.rows);
    check.demand(smoothing >= 0 && smoothing < 1, "a label smoothing of ", smoothing, " is not in [0, 1)");
}

device::Cost CrossEntropy::cost() const {
    const bool writes_gradients = gradient_scale != 0;
    const std::size_t bytes =
        (writes_gradients ? 2 : 1) * logits.bytes() + targets.bytes() + losses.bytes() + choices.bytes();
    return {.kernel = "cross_entropy", .bytes = static_cast<double>(bytes)};
}

NamedTensors CrossEntropy::tensors() const {
    return {{"logits", logits}, {"targets", targets}, {"losses", losses}, {"choices", choices}};
}

void SpanLoss::check() const {
    const ShapeCheck check("span_loss", logits.dtype);
    check.require_matrix("logits", logits, logits.rows, 2);
    check_segments(check, segments, logits.rows);
    check.require_matrix(device::DType::i32, "answers", answers, segments.size(), 2);
    check.require_vector(device::DType::f64, "losses", losses, segments.size());
}

device::Cost SpanLoss::cost() const {
    const bool writes_gradients = gradient_scale != 0;
    const std::size_t bytes = (writes_gradients ? 2 : 1) * logits.bytes() + answers.bytes() + losses.bytes();
    return {.kernel = "span_loss", .bytes = static_cast<double>(bytes)};
}

NamedTensors SpanLoss::tensors() const {
    return {{"logits", logits}, {"answers", answers}, {"losses", losses}};
}

void BestSpan::check() const {
    const ShapeCheck check("best_span", logits.dtype);
    check.require_matrix("logits", logits, logits.rows, 2);
    check_segments(check, segments, logits.rows);
    check.require_matrix(device::DType::i32, "contexts", contexts, segments.size(), 2);
    check.require_matrix(device::DType::i32, "choices", choices, segments.size(), 2);
    check.demand(max_rows > 0, "max_rows is 0, but an answer has at least one row");
}

device::Cost BestSpan::cost() const {
    const std::size_t bytes = logits.bytes() + contexts.bytes() + choices.bytes();
    return {.kernel = "best_span", .bytes = static_cast<double>(bytes)};
}

NamedTensors BestSpan::tensors() const {
    return {{"logits", logits}, {"contexts", contexts}, {"choices", choices}};
}

}  // namespace trireme::kernels
