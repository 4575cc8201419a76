#include "trireme/policy/slowness_watch.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

namespace trireme::policy {
namespace {

double mean_of(const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Returns the seconds per FLOP of a rank's matmuls, or nothing if it had none.
std::optional<double> pace_of(const plan::RankTimes& times) {
    if (times.product_flops <= 0 || times.products <= 0) return std::nullopt;
    return times.products / times.product_flops;
}

// Returns the lower median of the paces; with two ranks, the pace of the faster one.
std::optional<double> usual_pace(const std::vector<plan::RankTimes>& step) {
    std::vector<double> paces;
    for (const plan::RankTimes& times : step) {
        if (const auto pace = pace_of(times)) paces.push_back(*pace);
    }
    if (paces.empty()) return std::nullopt;
    std::ranges::sort(paces);
    return paces[(paces.size() - 1) / 2];
}

}  // namespace

SlownessWatch::SlownessWatch(int ranks, const SlownessRules& rules)
    : rules_(rules), ranks_(static_cast<std::size_t>(ranks)) {}

void SlownessWatch::shapes_change() {
    for (Rank& rank : ranks_) {
        rank.unlike.clear();
        rank.of_shapes.clear();
    }
    are_shapes_new_ = true;
}

void SlownessWatch::go_on_from(const std::vector<double>& factors) {
    for (std::size_t r = 0; r < ranks_.size(); ++r)
        ranks_[r] = {.level = factors[r], .is_slow = factors[r] > 1, .told = factors[r]};
    shapes_change();
}

// In the first steps after a change of shapes, deviations from the level are attributed to the shapes, unless
// they are larger than shapes can explain. An error in this decays over the next steps.
void SlownessWatch::judge_shapes(Rank& rank, double sample) const {
    constexpr double most = 1.25;
    constexpr double forgotten = 0.02;  // per step
    if (are_shapes_new_ && rank.of_shapes.size() < rules_.lasting) {
        rank.of_shapes.push_back(sample);
        const double found = mean_of(rank.of_shapes) / rank.level;
        rank.shape = found < most && found > 1 / most ? found : 1;
    } else {
        rank.shape += forgotten * (1 - rank.shape);
    }
}

void SlownessWatch::follow(Rank& rank, double sample) const {
    const double difference = sample / rank.level - 1;
    if (std::abs(difference) <= rules_.jump) {
        rank.unlike.clear();
        rank.level += rules_.weight_of_new * (sample - rank.level);
        return;
    }
    const bool is_other_side = !rank.unlike.empty() && (rank.unlike.back() > rank.level) != (difference > 0);
    if (is_other_side) rank.unlike.clear();
    rank.unlike.push_back(sample);
    if (rank.unlike.size() < rules_.lasting) return;
    rank.level = mean_of(rank.unlike);
    rank.unlike.clear();
}

bool SlownessWatch::has_news(Rank& rank) const {
    const bool was_slow = rank.is_slow;
    rank.is_slow = rank.level > (was_slow ? rules_.recovered : rules_.slow);
    const double factor = rank.is_slow ? rank.level : 1;
    if (rank.is_slow == was_slow && std::abs(factor / rank.told - 1) <= rules_.news) return false;
    rank.told = factor;
    return true;
}

std::vector<SlownessChange> SlownessWatch::add(const std::vector<plan::RankTimes>& step) {
    std::vector<SlownessChange> changes;
    if (!std::exchange(has_begun_, true)) return changes;
    const auto usual = usual_pace(step);
    for (std::size_t r = 0; usual && r < ranks_.size(); ++r) {
        const auto pace = pace_of(step[r]);
        if (!pace) continue;
        judge_shapes(ranks_[r], *pace / *usual);
        follow(ranks_[r], *pace / *usual / ranks_[r].shape);
        if (has_news(ranks_[r])) changes.push_back({static_cast<int>(r), ranks_[r].told});
    }
    return changes;
}

std::vector<double> SlownessWatch::factors() const {
    std::vector<double> factors;
    for (const Rank& rank : ranks_) factors.push_back(rank.is_slow ? rank.level : 1);
    return factors;
}

}  // namespace trireme::policy
