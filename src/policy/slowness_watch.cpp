#include "trireme/policy/slowness_watch.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace trireme::policy {
namespace {

double compute_mean(const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Returns the median; for an even number of values, the smaller of the two middle ones. `values` must not be
// empty.
double find_median(std::vector<double> values) {
    std::ranges::sort(values);
    return values[(values.size() - 1) / 2];
}

}  // namespace

SlownessWatch::SlownessWatch(int ranks, const SlownessRules& rules)
    : rules_(rules), ranks_(static_cast<std::size_t>(ranks)) {}

void SlownessWatch::resume_from(const std::vector<double>& factors) {
    for (std::size_t r = 0; r < ranks_.size(); ++r)
        ranks_[r] = {.level = factors[r],
                     .samples = rules_.min_outliers,
                     .is_slow = factors[r] > 1,
                     .reported_factor = factors[r]};
}

std::vector<SlownessWatch::Pace> SlownessWatch::list_paces(const std::vector<plan::RankTimes>& step) {
    std::vector<Pace> paces;
    for (std::size_t r = 0; r < step.size(); ++r) {
        const plan::RankTimes& times = step[r];
        if (times.matmuls <= 0 || times.expected_matmuls <= 0) continue;
        const double call_seconds = times.expected_matmuls / std::max(1.0, times.matmul_calls);
        paces.push_back({.rank = r,
                         .pace = times.matmuls / times.expected_matmuls,
                         .shape_class = static_cast<int>(std::lround(std::log2(call_seconds)))});
    }
    return paces;
}

// Expected times are not equally accurate for all shapes. So each class of shapes is measured: by the median,
// over its ranks, of the pace divided by the rank's own slowness. The correction of a class with several ranks
// is a moving average of this median. A class with a single rank is measured only when the class is new,
// because a later change of pace may be the rank's own. If the rank's level is not known yet, the class begins
// with the usual pace (the median of all ranks) instead. Later steps move the correction of a class with a
// single rank towards the usual pace, so that a wrong correction disappears. If the median of a class deviates
// so much from the usual pace that shapes cannot be the cause, the usual pace replaces this median.
void SlownessWatch::update_corrections(const std::vector<Pace>& paces) {
    constexpr double weight = 0.1;
    constexpr double decay = 0.02;
    std::vector<double> all_paces;
    std::map<int, std::vector<double>> paces_of_classes;
    std::map<int, bool> is_known;  // per class: the levels of all its ranks are known
    for (const Pace& each : paces) {
        const Rank& rank = ranks_[each.rank];
        all_paces.push_back(each.pace);
        paces_of_classes[each.shape_class].push_back(each.pace / rank.level);
        is_known.try_emplace(each.shape_class, true).first->second &= rank.samples >= rules_.min_outliers;
    }
    const double usual_pace = find_median(std::move(all_paces));
    for (auto& [shape_class, class_paces] : paces_of_classes) {
        const bool has_several_ranks = class_paces.size() > 1;
        const double measured = find_median(std::move(class_paces));
        const double ratio = measured / usual_pace;
        const double max_ratio = has_several_ranks ? 1.5 : 1.25;
        const bool may_be_shapes = ratio < max_ratio && ratio > 1 / max_ratio;
        const double target = may_be_shapes ? measured : usual_pace;
        const auto [correction, is_new] = corrections_.try_emplace(
            shape_class, has_several_ranks || is_known[shape_class] ? target : usual_pace);
        if (is_new) continue;
        if (has_several_ranks)
            correction->second += weight * (target - correction->second);
        else
            correction->second += decay * (usual_pace - correction->second);
    }
}

// Updates `rank.level`, the moving average of the rank's factor. A single outlier does not change the level.
// The mean of `min_outliers` consecutive outliers on the same side becomes the new level.
void SlownessWatch::update_level(Rank& rank, double factor) const {
    ++rank.samples;
    const double deviation = factor / rank.level - 1;
    if (std::abs(deviation) <= rules_.max_normal_deviation) {
        rank.outliers.clear();
        rank.level += rules_.new_sample_weight * (factor - rank.level);
        return;
    }
    const bool is_on_other_side =
        !rank.outliers.empty() && (rank.outliers.back() > rank.level) != (deviation > 0);
    if (is_on_other_side) rank.outliers.clear();
    rank.outliers.push_back(factor);
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
    const std::vector<Pace> paces = list_paces(step);
    if (paces.empty()) return changes;
    update_corrections(paces);
    std::vector<double> corrected_paces;
    for (const Pace& each : paces) corrected_paces.push_back(each.pace / corrections_.at(each.shape_class));
    const double median_pace = find_median(corrected_paces);
    for (std::size_t i = 0; i < paces.size(); ++i) {
        Rank& rank = ranks_[paces[i].rank];
        update_level(rank, corrected_paces[i] / median_pace);
        if (update_reported_factor(rank))
            changes.push_back({static_cast<int>(paces[i].rank), rank.reported_factor});
    }
    return changes;
}

std::vector<double> SlownessWatch::factors() const {
    std::vector<double> factors;
    for (const Rank& rank : ranks_) factors.push_back(rank.is_slow ? rank.level : 1);
    return factors;
}

}  // namespace trireme::policy
