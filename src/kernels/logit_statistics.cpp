#include "trireme/kernels/logit_statistics.hpp"

#include "kernels/shape_check.hpp"

namespace trireme::kernels {
namespace {

void check_smoothing(const ShapeCheck& check, double smoothing) {
    check.demand(smoothing >= 0 && smoothing < 1, "a label smoothing of ", smoothing, " is not in [0, 1)");
}

}  // namespace

void LogitStatistics::check() const {
    const ShapeCheck check("logit_statistics", logits.dtype);
    check.require_matrix("logits", logits, logits.rows, logits.columns);
    check.demand(logits.columns > 0, "logits has no columns, but every rank has part of the vocabulary");
    check.require_vector(device::DType::i32, "targets", targets, logits.rows);
    check.require_matrix(device::DType::f64, "statistics", statistics, logits.rows, logit_field::count);
}

device::Cost LogitStatistics::cost() const {
    const std::size_t bytes = logits.bytes() + targets.bytes() + statistics.bytes();
    return {.kernel = "logit_statistics", .bytes = static_cast<double>(bytes)};
}

NamedTensors LogitStatistics::tensors() const {
    return {{"logits", logits}, {"targets", targets}, {"statistics", statistics}};
}

void MergeLogitStatistics::check() const {
    const std::size_t rows = targets.columns;
    const ShapeCheck check("merge_logit_statistics", rank_statistics.dtype);
    check.require_matrix(device::DType::f64, "parts", rank_statistics, rank_statistics.rows,
                         logit_field::count);
    check.require_vector(device::DType::i32, "targets", targets, rows);
    check.demand(
        rows == 0 ? rank_statistics.rows == 0 : rank_statistics.rows > 0 && rank_statistics.rows % rows == 0,
        "parts has ", rank_statistics.rows, " rows, but needs exactly ", rows, " rows per rank");
    check.require_vector(device::DType::f64, "log_sums", log_sums, rows);
    check.require_vector(device::DType::f64, "losses", losses, rows);
    if (choices.is_present()) check.require_vector(device::DType::i32, "choices", choices, rows);
    check.demand(columns > 0, "columns is 0, but a vocabulary has at least one token");
    check_smoothing(check, smoothing);
}

device::Cost MergeLogitStatistics::cost() const {
    const std::size_t written = log_sums.bytes() + losses.bytes() + choices.bytes();
    return {.kernel = "merge_logit_statistics",
            .bytes = static_cast<double>(rank_statistics.bytes() + targets.bytes() + written)};
}

NamedTensors MergeLogitStatistics::tensors() const {
    return {{"parts", rank_statistics},
            {"targets", targets},
            {"log_sums", log_sums},
            {"losses", losses},
            {"choices", choices}};
}

void LogitGradients::check() const {
    const ShapeCheck check("logit_gradients", logits.dtype);
    check.require_matrix("logits", logits, logits.rows, logits.columns);
    check.demand(logits.columns > 0, "logits has no columns, but every rank has part of the vocabulary");
    check.demand(first_column + logits.columns <= columns, logits.columns, " columns from column ",
                 first_column, " on do not fit into a vocabulary of ", columns);
    check.require_vector(device::DType::i32, "targets", targets, logits.rows);
    check.require_vector(device::DType::f64, "log_sums", log_sums, logits.rows);
    check_smoothing(check, smoothing);
}

device::Cost LogitGradients::cost() const {
    const std::size_t bytes = 2 * logits.bytes() + targets.bytes() + log_sums.bytes();
    return {.kernel = "logit_gradients", .bytes = static_cast<double>(bytes)};
}

NamedTensors LogitGradients::tensors() const {
    return {{"logits", logits}, {"targets", targets}, {"log_sums", log_sums}};
}

}  // namespace trireme::kernels
