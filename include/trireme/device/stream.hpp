// A stream: the backend on which kernels run, and the ledger of the work that ran there.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <variant>

#include "trireme/device/emulated_slowness.hpp"
#include "trireme/device/ledger.hpp"
#include "trireme/device/tensor.hpp"

namespace trireme::kernels {
class GpuStreamState;
class ValueCheck;
}  // namespace trireme::kernels

namespace trireme::device {

struct ReferenceStream {};  // plain loops: the reference that tests compare with
struct CpuStream {
    int threads = 1;
};
struct CudaStream {
    std::shared_ptr<kernels::GpuStreamState> work;  // queue and memory, shared by copies; never null
};
struct GhostStream {};  // charges the costs of kernels but does not execute them

// The speed of a device in a cluster file, for the roofline model of simulated kernels.
struct DeviceRates {
    double flops = 0;      // FLOP/s in the data type of the run
    double bandwidth = 0;  // memory bandwidth in bytes per second
    double launch = 0;     // overhead of each kernel in seconds

    // Returns the predicted seconds of a kernel. Arithmetic and memory access overlap, so the longer of the two
    // times counts. `clock` is a fraction of the highest clock. The memory bandwidth does not depend on the
    // clock.
    double seconds(const Cost& cost, double clock = 1) const {
        return std::max(cost.flops / (flops * clock), cost.bytes / bandwidth) + launch;
    }
};

// A function that returns the seconds of a kernel on a simulated device. `clock` is a fraction of the highest
// clock.
using KernelTimePredictor = std::function<double(const Cost& cost, double clock)>;

class ClockedDevice;
class ClockSetter;
class GpuTimes;
class Trace;

struct Stream {
    std::variant<ReferenceStream, CpuStream, CudaStream, GhostStream> backend;
    Ledger ledger = {};
    MatmulWork matmuls = {};  // matmuls in transformer blocks, which the ledger also includes
    LayerPasses layer_passes = {};
    CacheVisits cache_visits = {};
    // Times of GPU kernels that synchronize() will add to the ledger; null without a GPU.
    std::shared_ptr<GpuTimes> gpu_times = {};
    // Predicts the seconds of a kernel on a simulated device. Profilers, and predictions of the work of a pass,
    // instead set a function that records the kernel calls and returns 0. Otherwise empty.
    KernelTimePredictor predict_seconds = {};
    // Predicts the seconds of a matmul on a device that is the same for all ranks. A rank is slow if the ratio
    // of its matmul seconds at the highest clock to the expected seconds is larger than on other ranks.
    KernelTimePredictor expect_seconds = {};
    double clock = 1;  // clock of the kernels that are launched next, as a fraction of the highest clock
    // Sets the clock; null if programs set no clocks on the device.
    std::shared_ptr<ClockSetter> clock_setter = {};
    // Measures the energy of each kernel; null if that is not possible.
    std::shared_ptr<const ClockedDevice> meter = {};
    Slowness slowness = {};
    Trace* trace = nullptr;                // records kernels, but not on a GPU; null if no kernels are traced
    kernels::ValueCheck* check = nullptr;  // checks the values that kernels read and write; null if off

    // Predicts by how many seconds a kernel that took `seconds` at the current clock was slower than at the
    // highest clock.
    double predict_clock_delay(const Cost& cost, double seconds) const;

    MemorySpace memory_space() const;  // memory of the tensors that the kernels read and write
    bool is_on_gpu() const { return std::holds_alternative<CudaStream>(backend); }
    // On a GPU, waits for all queued kernels and adds their times to `ledger` and `matmuls`. Otherwise a no-op.
    void synchronize();
    // Calls ClockSetter::restore_clock() if programs may set clocks on the device.
    void restore_clock();

    bool is_ghost() const { return std::holds_alternative<GhostStream>(backend); }
    // Begins to count the work anew.
    void clear_work() {
        ledger.clear();
        matmuls = {};
        layer_passes = {};
        cache_visits = {};
    }
};

}  // namespace trireme::device
