// What a rank's device consumes in its steps, and not between them.
#pragma once

#include <span>

#include "trireme/rank/rank_gpu.hpp"

namespace trireme::rank {

class StepEnergy {
public:
    // `gpu`, which outlives it, is the device; none: what consumed_joules() tells of.
    explicit StepEnergy(RankGpu* gpu = nullptr) : gpu_(gpu) {}

    // A step begins, which ends with the last look before the next one.
    void begin();
    void look();
    // Joules of steps since this was last asked; not a number: nothing measures them. Asked within a step.
    double take();

private:
    double meter() const;

    RankGpu* gpu_;
    double since_ = 0;   // what the meter said when it was last looked at
    double before_ = 0;  // joules of steps until then, which were not asked for
};

// Fills the fields of a record that describe the GPU. A null `gpu`, and what the driver does not report, gives
// not-a-number.
void say_state_of(RankGpu* gpu, std::span<double> own);

}  // namespace trireme::rank
