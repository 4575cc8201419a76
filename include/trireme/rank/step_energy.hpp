// Measures the energy that a rank's device consumes during steps, excluding the time between steps.
#pragma once

#include <memory>
#include <span>
#include <utility>

#include "trireme/rank/rank_gpu.hpp"

namespace trireme::rank {

class StepEnergy {
public:
    // `device` is null if the energy of the device is not measured.
    explicit StepEnergy(std::shared_ptr<device::ClockedDevice> device) : device_(std::move(device)) {}

    // Begins a step, which ends with the last call of add_reading() or take() before the next begin().
    void begin();
    // Reads the energy. Adds the energy that the device has consumed since the last reading to the energy of
    // steps.
    void add_reading();
    // Calls add_reading(). Returns the joules that steps consumed since the last call of take(); NaN if the
    // device does not measure its energy.
    double take();

private:
    double read_joules() const;

    std::shared_ptr<device::ClockedDevice> device_;
    double last_reading_ = 0;  // joules
    double joules_ = 0;        // energy of steps since the last take(), up to the last reading
};

// Fills the fields of a step record that describe the GPU. `record` has RecordFields::count_on_gpus numbers. A
// field is NaN if `gpu` is null or the driver does not report the quantity.
void record_gpu_state(RankGpu* gpu, std::span<double> record);

}  // namespace trireme::rank
