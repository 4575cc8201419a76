#include "kernels/logit_merge.hpp"

#include <cmath>

#include "kernels/index_check.hpp"

namespace trireme::kernels {
namespace {

struct WholeRow {
    double largest;
    double choice;
    double exp_sum;  // sum of exp(logit - largest)
    double sum;
    double target_logit;
};

// Merges the statistics of row r. The ranks hold the columns in ascending order, so of equally large logits the
// one of the lowest rank is the first.
WholeRow merge(const device::Elements<const double>& parts, std::size_t rows, std::size_t r) {
    std::size_t best = r;
    for (std::size_t part = r; part < parts.rows; part += rows) {
        if (parts(part, logit_field::largest) > parts(best, logit_field::largest)) best = part;
    }
    const double largest = parts(best, logit_field::largest);
    WholeRow whole{.largest = largest,
                   .choice = parts(best, logit_field::choice),
                   .exp_sum = 0,
                   .sum = 0,
                   .target_logit = 0};
    for (std::size_t part = r; part < parts.rows; part += rows) {
        whole.exp_sum +=
            parts(part, logit_field::exp_sum) * std::exp(parts(part, logit_field::largest) - largest);
        whole.sum += parts(part, logit_field::sum);
        whole.target_logit += parts(part, logit_field::target_logit);
    }
    return whole;
}

// Uses differences from the largest logit, which keep precision if all logits are large.
double loss_of(const WholeRow& row, std::size_t columns, double smoothing) {
    double right = (1 - smoothing) * (row.target_logit - row.largest);
    if (smoothing > 0) right += smoothing * (row.sum / static_cast<double>(columns) - row.largest);
    return std::log(row.exp_sum) - right;
}

}  // namespace

void run_merge(const MergeLogitStatistics& op) {
    check_indices(op);
    const auto parts = op.parts.as<double>();
    const auto targets = op.targets.as<std::int32_t>();
    for (std::size_t r = 0; r < targets.columns; ++r) {
        const WholeRow row = merge(parts, targets.columns, r);
        op.log_sums.as<double>()[r] = row.largest + std::log(row.exp_sum);
        op.losses.as<double>()[r] = targets[r] == no_target ? 0 : loss_of(row, op.columns, op.smoothing);
        if (op.choices.is_present()) {
            op.choices.as<std::int32_t>()[r] = static_cast<std::int32_t>(row.choice);
        }
    }
}

}  // namespace trireme::kernels
