// Measures the energy that a rank's device consumes during steps, excluding the time between them.
#pragma once

#include <span>

#include "trireme/rank/rank_gpu.hpp"

namespace trireme::rank {

class StepEnergy {
public:
    // Measures `gpu`, which must outlive this object, or, if null, the device of consumed_joules().
    explicit StepEnergy(RankGpu* gpu = nullptr) : gpu_(gpu) {}

    // Begins a step. It ends with the last look() or take() before the next begin().
    void begin();
    void look();
    // Called within a step. Returns the joules of steps since the last call; NaN if they are not measured.
    double take();

private:
    double meter() const;

    RankGpu* gpu_;
    double since_ = 0;   // last reading of the meter
    double before_ = 0;  // joules of steps up to this reading, since the last take()
};

// Fills the fields of a record that describe the GPU. Fields are NaN if `gpu` is null or the driver does not
// report them.
void say_state_of(RankGpu* gpu, std::span<double> own);

}  // namespace trireme::rank
