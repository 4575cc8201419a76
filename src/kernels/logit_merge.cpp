#include "kernels/logit_merge.hpp"

#include <cmath>

#include "kernels/index_check.hpp"

namespace trireme::kernels {
namespace {

struct MergedRow {
    double largest;
    double argmax;
    double exp_sum;  // sum of exp(logit - largest)
    double sum;      // sum of the logits
    double target_logit;
};

// Merges the statistics of logit row r. The rows of `rank_statistics` are those of rank 0, then those of rank
// 1, and so on, with `rows` rows per rank. The ranks hold the columns in ascending order, so if several ranks
// have the largest logit, the lowest of these ranks holds the first column with this logit.
MergedRow merge_row(const device::Elements<const double>& rank_statistics, std::size_t rows, std::size_t r) {
    std::size_t best = r;  // row of rank_statistics with the largest logit
    for (std::size_t rank_row = r; rank_row < rank_statistics.rows; rank_row += rows) {
        if (rank_statistics(rank_row, logit_field::largest_logit) >
            rank_statistics(best, logit_field::largest_logit))
            best = rank_row;
    }
    const double largest = rank_statistics(best, logit_field::largest_logit);
    MergedRow merged{.largest = largest,
                     .argmax = rank_statistics(best, logit_field::argmax),
                     .exp_sum = 0,
                     .sum = 0,
                     .target_logit = 0};
    for (std::size_t rank_row = r; rank_row < rank_statistics.rows; rank_row += rows) {
        merged.exp_sum += rank_statistics(rank_row, logit_field::exp_sum) *
                          std::exp(rank_statistics(rank_row, logit_field::largest_logit) - largest);
        merged.sum += rank_statistics(rank_row, logit_field::logit_sum);
        merged.target_logit += rank_statistics(rank_row, logit_field::target_logit);
    }
    return merged;
}

// Returns the loss of a row that has a target. Subtracts the largest logit from all logits, which keeps
// precision if all logits are large.
double compute_loss(const MergedRow& row, std::size_t columns, double smoothing) {
    double weighted_logits = (1 - smoothing) * (row.target_logit - row.largest);
    if (smoothing > 0) weighted_logits += smoothing * (row.sum / static_cast<double>(columns) - row.largest);
    return std::log(row.exp_sum) - weighted_logits;
}

}  // namespace

void merge_logit_statistics(const MergeLogitStatistics& op) {
    check_indices(op);
    const auto rank_statistics = op.rank_statistics.as<double>();
    const auto targets = op.targets.as<std::int32_t>();
    for (std::size_t r = 0; r < targets.columns; ++r) {
        const MergedRow row = merge_row(rank_statistics, targets.columns, r);
        op.log_sums.as<double>()[r] = row.largest + std::log(row.exp_sum);
        op.losses.as<double>()[r] = targets[r] == no_target ? 0 : compute_loss(row, op.columns, op.smoothing);
        if (op.choices.is_present()) {
            op.choices.as<std::int32_t>()[r] = static_cast<std::int32_t>(row.argmax);
        }
    }
}

}  // namespace trireme::kernels
