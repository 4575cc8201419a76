// The seconds of the stages of a CutProblem.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "policy/proposers/cut_stages.hpp"

namespace trireme::policy {

inline constexpr double no_cut = std::numeric_limits<double>::infinity();

// The seconds of a stage, or of several ones. Their step takes first + others.
struct CutSeconds {
    double first = 0;   // for the first micro-batch; of several stages, the sum
    double others = 0;  // for the other micro-batches and the all-reduce; of several stages, the maximum

    double step() const { return first + others; }
    CutSeconds join(const CutSeconds& rest) const {
        return {first + rest.first, std::max(others, rest.others)};
    }
};

// Limits of the number of runs or of teams of a stage.
struct StageLimits {
    std::size_t min = 1;
    std::size_t max = 1;
    std::size_t step = 1;  // the number is a multiple of this in all stages but the last one

    // Returns the limits of the first stage, if `rest_stages` stages after it share the rest of `left`. Its
    // minimum exceeds its maximum if this is impossible.
    StageLimits limit_first(std::size_t left, std::size_t rest_stages) const {
        if (left < rest_stages * min) return {1, 0};
        const std::size_t max_rest = std::min(left, rest_stages * max);
        const std::size_t first_min = std::max(min, left - max_rest);
        return {rest_stages > 0 ? round_up(first_min) : first_min, std::min(max, left - rest_stages * min),
                step};
    }
    // Returns the smallest multiple of `step` that is at least `number`.
    std::size_t round_up(std::size_t number) const { return (number + step - 1) / step * step; }
};

// The seconds of all possible stages. Runs have indices.
class StageCosts {
public:
    explicit StageCosts(const CutProblem& problem);

    std::size_t runs() const { return work_.size() - 1; }
    std::size_t teams() const { return teams_; }
    bool has_equal_teams() const { return has_equal_teams_; }
    // True if stages with `replicas` replicas and more runs have larger CutSeconds::others, and the sums of
    // CutSeconds::first are equal for all cuts into the same number of stages, apart from rounding.
    bool grow_with_runs(std::size_t replicas) const {
        return has_equal_teams_ && !is_divided_ && later_microbatches_[replicas - 1] >= reduce_overlap_;
    }
    const StageLimits& run_limits() const { return run_limits_; }
    const StageLimits& replica_limits() const { return replica_limits_; }
    std::size_t count_layers(std::size_t begin, std::size_t end) const { return begins_[end] - begins_[begin]; }

    // Returns the seconds of a stage with the runs from `begin` to `end` - 1 on `replicas` teams from `team`
    // on.
    CutSeconds find(std::size_t begin, std::size_t end, std::size_t team, std::size_t replicas) const {
        if (!fits(begin, end, replicas)) return {no_cut, no_cut};
        const double send_seconds = end < runs() ? send_seconds_ : 0;
        const double seconds =
            slowness_[team * (teams_ + 1) + replicas] * (work_[end] - work_[begin]) + send_seconds;
        const double reduction = reductions_[replicas - 1] * (reduce_[end] - reduce_[begin]);
        const double later = later_microbatches_[replicas - 1];
        if (!is_divided_) {
            const double hidden = std::min(reduction / 2, reduce_overlap_ * seconds);
            return {seconds, later * seconds + reduction - hidden};
        }
        const double divided = seconds / static_cast<double>(replicas) + reduction / microbatches_;
        return {divided, later * divided};
    }

private:
    bool fits(std::size_t begin, std::size_t end, std::size_t replicas) const {
        if (memory_limit_ == 0) return true;
        return held_bytes_[end] - held_bytes_[begin] +
                   (divided_bytes_[end] - divided_bytes_[begin]) / static_cast<double>(replicas) <=
               memory_limit_;
    }

    // Returns, per run and for the end of the last one, the sum over all earlier layers.
    std::vector<double> add_runs(const std::vector<double>& layer_seconds) const;

    bool is_divided_;
    bool has_equal_teams_;  // so that the seconds of a stage do not depend on its first team
    double reduce_overlap_;
    double microbatches_;
    double send_seconds_;
    std::size_t teams_;
    std::vector<std::size_t> begins_;  // first layer of each run, and the number of layers
    std::vector<double> work_;
    std::vector<double> reduce_;
    double memory_limit_;
    std::vector<double> held_bytes_ = {};
    std::vector<double> divided_bytes_ = {};
    std::vector<double> slowness_;  // by first team and number of replicas
    StageLimits run_limits_ = {};
    StageLimits replica_limits_ = {};
    std::vector<double> later_microbatches_ = {};  // per replica; by number of replicas - 1
    std::vector<double> reductions_ = {};          // by number of replicas - 1
};

}  // namespace trireme::policy
