// Which devices are slower than the others, by what they took for their products. Single steps are disturbed by
// all sorts of things, so a change has to last before it counts; and a slow device has to come nearer to the
// others than it was when it was found, to be one of them again.
#pragma once

#include <cstddef>
#include <vector>

#include "trireme/plan/observation.hpp"

namespace trireme::policy {

struct SlownessRules {
    double slow = 1.2;           // times as long as others
    double recovered = 1.1;      // likewise: no longer slow below this
    double jump = 0.15;          // a step that far from those before may be the first of others like it
    std::size_t lasting = 3;     // of so many in a row it is
    double news = 0.3;           // that much more or less than was told is told
    double weight_of_new = 0.3;  // of a step that is like those before
};

// What is new of a rank. A factor of 1: it is slow no more.
struct SlownessChange {
    int rank = 0;
    double factor = 1;

    friend bool operator==(const SlownessChange&, const SlownessChange&) = default;
};

class SlownessWatch {
public:
    explicit SlownessWatch(int ranks, const SlownessRules& rules = {});

    // What each rank took in a step. Those without products stay as they were. A run's first step, in which
    // everything is new, tells nothing.
    std::vector<SlownessChange> add(const std::vector<plan::RankTimes>& step);

    // Ranks are as slow as an earlier watch has found them; in which shapes, nobody knows any more.
    void go_on_from(const std::vector<double>& factors);

    // Products have other shapes from here on, and other rates with them: what the next steps differ from those
    // before is no matter of the devices.
    void shapes_change();

    std::vector<double> factors() const;  // of each rank; 1: it is not slow

private:
    struct Rank {
        double level = 1;                    // how many times as long as others
        double shape = 1;                    // of that, what comes of its shapes
        std::vector<double> unlike = {};     // steps in a row that are far from the level, on the same side
        std::vector<double> of_shapes = {};  // steps since shapes changed, until what comes of them is known
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
