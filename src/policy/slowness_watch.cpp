#include "trireme/policy/slowness_watch.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

namespace trireme::policy {
namespace {

double compute_mean(const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Returns the seconds per FLOP of a rank's matmuls; empty if the rank executed no matmuls.
std::optional<double> compute_pace(const plan::RankTimes& times) {
    if (times.matmul_flops <= 0 || times.matmuls <= 0) return std::nullopt;
    return times.matmuls / times.matmul_flops;
}

// Returns the lower median of the paces of all ranks that executed matmuls; with two ranks, the pace of the
// faster one. Empty if no rank executed matmuls.
std::optional<double> compute_median_pace(const std::vector<plan::RankTimes>& step) {
    std::vector<double> paces;
    for (const plan::RankTimes& times : step) {
        if (const auto pace = compute_pace(times)) paces.push_back(*pace);
    }
    if (paces.empty()) return std::nullopt;
    std::ranges::sort(paces);
    return paces[(paces.size() - 1) / 2];
}

}  // namespace

SlownessWatch::SlownessWatch(int ranks, const SlownessRules& rules)
    : rules_(rules), ranks_(static_cast<std::size_t>(ranks)) {}

void SlownessWatch::announce_new_shapes() {
    for (Rank& rank : ranks_) {
        rank.outliers.clear();
        rank.shape_samples.clear();
    }
    have_shapes_changed_ = true;
}

void SlownessWatch::resume_from(const std::vector<double>& factors) {
    for (std::size_t r = 0; r < ranks_.size(); ++r)
        ranks_[r] = {.level = factors[r], .is_slow = factors[r] > 1, .reported_factor = factors[r]};
    announce_new_shapes();
}

// In the first steps after a change of shapes, attributes deviations from the level to the shapes, unless the
// deviations are larger than shapes can explain. In later steps the shape factor decays to 1, so that a wrong
// attribution disappears.
void SlownessWatch::update_shape_factor(Rank& rank, double sample) const {
    constexpr double max_shape_factor = 1.25;
    constexpr double decay = 0.02;  // per step
    if (have_shapes_changed_ && rank.shape_samples.size() < rules_.min_outliers) {
        rank.shape_samples.push_back(sample);
        const double measured_factor = compute_mean(rank.shape_samples) / rank.level;
        rank.shape_factor =
            measured_factor < max_shape_factor && measured_factor > 1 / max_shape_factor ? measured_factor : 1;
    } else {
        rank.shape_factor += decay * (1 - rank.shape_factor);
    }
}

// Updates the moving average. Outliers do not change it, except that `min_outliers` consecutive outliers on the
// same side replace it by their mean.
void SlownessWatch::update_level(Rank& rank, double sample) const {
    const double deviation = sample / rank.level - 1;
    if (std::abs(deviation) <= rules_.max_normal_deviation) {
        rank.outliers.clear();
        rank.level += rules_.new_sample_weight * (sample - rank.level);
        return;
    }
    const bool is_on_other_side =
        !rank.outliers.empty() && (rank.outliers.back() > rank.level) != (deviation > 0);
    if (is_on_other_side) rank.outliers.clear();
    rank.outliers.push_back(sample);
    if (rank.outliers.size() < rules_.min_outliers) return;
    rank.level = compute_mean(rank.outliers);
    rank.outliers.clear();
}

// Updates `is_slow` and `reported_factor`. Returns true if the factor has changed enough to be reported.
bool SlownessWatch::update_reported_factor(Rank& rank) const {
    const bool was_slow = rank.is_slow;
    rank.is_slow = rank.level > (was_slow ? rules_.recovered_factor : rules_.slow_factor);
    const double factor = rank.is_slow ? rank.level : 1;
    if (rank.is_slow == was_slow && std::abs(factor / rank.reported_factor - 1) <= rules_.min_reported_change)
        return false;
    rank.reported_factor = factor;
    return true;
}

std::vector<SlownessChange> SlownessWatch::add(const std::vector<plan::RankTimes>& step) {
    std::vector<SlownessChange> changes;
    if (!std::exchange(has_seen_first_step_, true)) return changes;
    const auto median_pace = compute_median_pace(step);
    for (std::size_t r = 0; median_pace && r < ranks_.size(); ++r) {
        const auto pace = compute_pace(step[r]);
        if (!pace) continue;
        update_shape_factor(ranks_[r], *pace / *median_pace);
        update_level(ranks_[r], *pace / *median_pace / ranks_[r].shape_factor);
        if (update_reported_factor(ranks_[r]))
            changes.push_back({static_cast<int>(r), ranks_[r].reported_factor});
    }
    return changes;
}

std::vector<double> SlownessWatch::factors() const {
    std::vector<double> factors;
    for (const Rank& rank : ranks_) factors.push_back(rank.is_slow ? rank.level : 1);
    return factors;
}

}  // namespace trireme::policy
