// Detects slow devices from the times of their matmuls. The pace of a rank is the time of its matmuls in a
// step, divided by the expected time of matmuls of these shapes. Paces are corrected per class of shapes,
// because expected times are not equally accurate for all shapes. A rank's factor is its pace, divided by the
// pace of the median rank. Single steps are noisy, so a change of the factor counts only if it lasts for
// several steps. The factor below which a rank has recovered is lower than the factor above which a rank is
// slow (hysteresis).
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "trireme/plan/observation.hpp"

namespace trireme::policy {

struct SlownessRules {
    double slow_factor = 1.2;       // factor above which a rank becomes slow
    double recovered_factor = 1.1;  // factor below which a slow rank has recovered
    // Maximum relative deviation of a step from the moving average. A step that deviates more is an outlier.
    double max_normal_deviation = 0.15;
    std::size_t min_outliers = 3;      // consecutive outliers whose mean replaces the moving average
    double min_reported_change = 0.3;  // minimum relative change of a slow rank's factor that is reported
    double new_sample_weight = 0.3;    // weight of a step in the moving average, unless it is an outlier
};

// A change that SlownessWatch reports. A factor of 1 means that the rank is no longer slow.
struct SlownessChange {
    int rank = 0;
    double factor = 1;

    friend bool operator==(const SlownessChange&, const SlownessChange&) = default;
};

class SlownessWatch {
public:
    explicit SlownessWatch(int ranks, const SlownessRules& rules = {});

    // Adds the times of all ranks in a step, and returns the changes to report. Ranks without matmuls keep
    // their factors. The first call has no effect, because the times of a first step include initialization.
    std::vector<SlownessChange> add(const std::vector<plan::RankTimes>& step);

    // Resumes the work of an earlier watch, whose factors() returned `factors`.
    void resume_from(const std::vector<double>& factors);

    // Returns the slowness of each rank: its average factor if the rank is slow, otherwise 1.
    std::vector<double> factors() const;

private:
    struct Rank {
        double level = 1;                   // moving average of the rank's factor
        std::size_t samples = 0;            // number of factors added; resume_from() sets it to min_outliers
        std::vector<double> outliers = {};  // consecutive outliers that are all above or all below the level
        bool is_slow = false;
        double reported_factor = 1;  // last factor that add() returned
    };
    // The pace of a rank that executed matmuls in a step.
    struct Pace {
        std::size_t rank = 0;
        double pace = 1;
        int shape_class = 0;  // binary logarithm of the mean expected seconds of a matmul, rounded
    };

    static std::vector<Pace> list_paces(const std::vector<plan::RankTimes>& step);
    void update_corrections(const std::vector<Pace>& paces);
    void update_level(Rank& rank, double factor) const;
    bool update_reported_factor(Rank& rank) const;

    SlownessRules rules_;
    std::vector<Rank> ranks_;
    std::map<int, double> corrections_;  // per shape class: pace of a rank that is not slow
    bool has_seen_first_step_ = false;
};

}  // namespace trireme::policy
