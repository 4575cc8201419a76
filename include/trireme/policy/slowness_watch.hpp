// Detects slow devices from the seconds of their matmuls. Single steps are noisy, so a change must last before
// it counts. A slow device must come closer to the others than the detection threshold to count as recovered
// (hysteresis).
#pragma once

#include <cstddef>
#include <vector>

#include "trireme/plan/observation.hpp"

namespace trireme::policy {

struct SlownessRules {
    double slow = 1.2;           // factor above which a rank becomes slow
    double recovered = 1.1;      // factor below which a slow rank has recovered
    double jump = 0.15;          // relative deviation from the level that makes a step an outlier
    std::size_t lasting = 3;     // consecutive outliers that set a new level
    double news = 0.3;           // relative change of a factor that is reported
    double weight_of_new = 0.3;  // weight of a step without jump in the moving average
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

    // Adds the times of all ranks in a step and returns the changes. Ranks without matmuls keep their state.
    // The first step of a run is ignored because its times include initialization.
    std::vector<SlownessChange> add(const std::vector<plan::RankTimes>& step);

    // Takes over the factors that an earlier watch has found; calls shapes_change(), since shapes may differ.
    void go_on_from(const std::vector<double>& factors);

    // Announces that matmul shapes, and thus their rates, change from here on. Differences between the next
    // steps and the last ones are not attributed to devices.
    void shapes_change();

    std::vector<double> factors() const;  // per rank; 1 if it is not slow

private:
    struct Rank {
        double level = 1;                    // slowness relative to the others, moving average
        double shape = 1;                    // factor explained by the rank's matmul shapes
        std::vector<double> unlike = {};     // consecutive outliers on the same side of the level
        std::vector<double> of_shapes = {};  // first samples after a change of shapes
        bool is_slow = false;
        double told = 1;
    };

    void judge_shapes(Rank& rank, double sample) const;
    void follow(Rank& rank, double sample) const;
    bool has_news(Rank& rank) const;

    SlownessRules rules_;
    std::vector<Rank> ranks_;
    bool has_begun_ = false;
    bool are_shapes_new_ = false;
};

}  // namespace trireme::policy
