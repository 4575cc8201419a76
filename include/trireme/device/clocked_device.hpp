// The clock and the energy of a device. Each kind of device whose clock can be set has one implementation:
// GpuMeter for GPUs of NVIDIA, and src/comm/mpi/simulated/device.cpp for simulated devices.
#pragma once

#include <memory>
#include <optional>
#include <vector>

namespace trireme::device {

struct ClockState {
    double mhz = 0;
    double speed = 1;  // fraction of the speed at the highest clock

    friend bool operator==(const ClockState&, const ClockState&) = default;
};

class ClockedDevice {
public:
    virtual ~ClockedDevice() = default;

    // Returns the clocks that can be set, highest first; empty if they are not known.
    virtual std::vector<ClockState> list_clocks() const = 0;

    // Sets the clock, which stays set until restore_clock(), even after this process ends. Throws ConfigError
    // if the device does not support `mhz` or this process may not set clocks, and ResourceError if the device
    // fails.
    virtual void set_clock(int mhz) = 0;

    // Lets the device choose its clock again; returns false on failure. May be called from any thread, even if
    // the clock is not set. An earlier clock that an administrator has set is not restored.
    virtual bool restore_clock() noexcept = 0;

    // Returns the energy that the device has consumed since an arbitrary moment; empty if it is not measured.
    virtual std::optional<double> read_joules() const = 0;
};

// Returns the joules of read_joules(); 0 if `device` is null or its energy is not measured.
inline double read_joules(const ClockedDevice* device) {
    return device == nullptr ? 0 : device->read_joules().value_or(0);
}

// Returns the simulated device of the rank that calls the functions of the result; null outside of a
// simulation. Its clocks and watts are those of the cluster file. A simulated run begins at the highest clock.
std::shared_ptr<ClockedDevice> make_simulated_device();

}  // namespace trireme::device
