// Measures the energy that a rank's device consumes during steps, excluding the time between steps.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "trireme/device/clocked_device.hpp"
#include "trireme/records/energy_phases.hpp"

namespace trireme::rank {

// The kernels and the waits for other ranks in a step. The joules are 0 for a GPU, whose counter is too slow to
// be read in each phase.
struct StepPhases {
    double seconds = 0;  // of the step
    double kernel_seconds = 0, kernel_joules = 0;
    double wait_seconds = 0, wait_joules = 0;
};

// Divides the energy of a GPU, which draws `waiting_watts` while it executes no kernels.
records::EnergyPhases derive_energy_phases(double joules, double waiting_watts, const StepPhases& phases);

class StepEnergy {
public:
    // `device` is null if the energy of the device is not measured. `waiting_watts` is set for a GPU: see
    // derive_energy_phases().
    explicit StepEnergy(std::shared_ptr<device::ClockedDevice> device, std::optional<double> waiting_watts = {})
        : device_(std::move(device)), waiting_watts_(waiting_watts) {}

    // Begins a step, which ends with the last call of end() or take() before the next begin().
    void begin();
    // Returns the energy since begin(), and since the last take() of the step before. All phases are NaN if the
    // energy is not measured.
    records::EnergyPhases take(const StepPhases& phases);
    // Called when the rank has waited for other ranks after take(). These waits count for the next step.
    void end();
    // Calls end(), and returns the joules of waits that no take() has returned; NaN if they are not measured.
    double take_rest();

private:
    double read_joules() const;

    std::shared_ptr<device::ClockedDevice> device_;
    std::optional<double> waiting_watts_;
    double last_reading_ = 0;  // joules
    double rest_ = 0;          // joules of waits since the last take()
};

}  // namespace trireme::rank
