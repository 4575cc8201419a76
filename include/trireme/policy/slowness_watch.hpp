// Detects slow devices from the seconds of their matmuls. Single steps are noisy, so a change counts only if it
// lasts for several steps. The factor below which a device counts as recovered is lower than the factor above
// which it counts as slow (hysteresis). Factors are times per FLOP relative to the median rank.
#pragma once

#include <cstddef>
#include <vector>

#include "trireme/plan/observation.hpp"

namespace trireme::policy {

struct SlownessRules {
    double slow_factor = 1.2;       // factor above which a rank becomes slow
    double recovered_factor = 1.1;  // factor below which a slow rank has recovered
    // Maximum relative deviation of a step from the moving average; beyond it, the step is an outlier.
    double max_normal_deviation = 0.15;
    std::size_t min_outliers = 3;      // number of consecutive outliers that set a new average
    double min_reported_change = 0.3;  // minimum relative change of a slow rank's factor that is reported
    double new_sample_weight = 0.3;    // weight of a step in the moving average, unless it is an outlier
};

// A reported change. A factor of 1 means that the rank is no longer slow.
struct SlownessChange {
    int rank = 0;
    double factor = 1;

    friend bool operator==(const SlownessChange&, const SlownessChange&) = default;
};

class SlownessWatch {
public:
    explicit SlownessWatch(int ranks, const SlownessRules& rules = {});

    // Adds the times of all ranks in a step and returns the changes that are to be reported. Ranks without
    // matmuls keep their state. The first step is ignored, because its times include initialization.
    std::vector<SlownessChange> add(const std::vector<plan::RankTimes>& step);

    // Resumes with the factors of an earlier watch. Calls announce_new_shapes(), because matmul shapes may
    // differ.
    void resume_from(const std::vector<double>& factors);

    // Called when the shapes of matmuls change, and therefore the seconds per FLOP. Small differences between
    // the steps before and after this call are then attributed to the shapes, not to devices.
    void announce_new_shapes();

    // Returns the slowness of each rank: its level if it is slow, otherwise 1.
    std::vector<double> factors() const;

private:
    struct Rank {
        double level = 1;         // moving average of the time per FLOP relative to the median rank
        double shape_factor = 1;  // factor of this relative time that the rank's matmul shapes explain
        std::vector<double> outliers = {};  // consecutive outliers that are all above or all below the level
        std::vector<double> shape_samples = {};  // first samples after a change of shapes
        bool is_slow = false;
        double reported_factor = 1;  // last one that add() returned
    };

    void update_shape_factor(Rank& rank, double sample) const;
    void update_level(Rank& rank, double sample) const;
    bool update_reported_factor(Rank& rank) const;

    SlownessRules rules_;
    std::vector<Rank> ranks_;
    bool has_seen_first_step_ = false;
    bool have_shapes_changed_ = false;
};

}  // namespace trireme::policy
