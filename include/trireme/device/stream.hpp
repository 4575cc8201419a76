// A stream: the backend on which kernels run, and the ledger of the work that ran there.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>
#include <variant>
#include <vector>

#include "trireme/device/emulated_slowness.hpp"
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
    std::shared_ptr<kernels::GpuStreamState> work;  // queue and memory; shared by all copies; never null
};
struct GhostStream {};  // counts shapes and costs without arithmetic; never dereferences an address

// The arithmetic and memory traffic that one kernel call needs on any backend.
struct Cost {
    std::string_view kernel;              // a literal: "linear"
    double flops = 0;                     // multiplications and additions of its matmuls
    double bytes = 0;                     // memory traffic if each operand is read or written once
    std::array<std::size_t, 3> matmul{};  // rows, columns and depth of its matmul; zeros if it has none

    // Returns true for a matmul with weights. False for attention, whose many small matmuls have no shape here.
    bool is_weight_matmul() const { return matmul[0] > 0; }
};

// The speed of a device in a cluster file: a roofline model for kernels in a simulation.
struct DeviceRates {
    double flops = 0;      // per second, in the data type of the run
    double bandwidth = 0;  // of its memory, bytes per second
    double launch = 0;     // overhead of each kernel in seconds

    // Predicts the time of a kernel. Arithmetic and memory access overlap, so the longer one counts. `clock` is
    // a fraction of the highest clock; the memory bandwidth does not depend on it.
    double seconds(const Cost& cost, double clock = 1) const {
        return std::max(cost.flops / (flops * clock), cost.bytes / bandwidth) + launch;
    }
};

// A function that returns the seconds of a kernel on a simulated device. `clock` is a fraction of the highest
// clock.
using KernelTimePredictor = std::function<double(const Cost& cost, double clock)>;

// The work ledger: calls, seconds and costs per kernel and matmul shape, in order of first use.
class Ledger {
public:
    struct Entry {
        Cost total_cost;  // name and matmul shape of the kernel; flops and bytes summed over its calls
        std::size_t calls = 0;
        double seconds = 0;
    };
    void add(const Cost& cost, double seconds);
    void clear() { entries_.clear(); }
    const std::vector<Entry>& entries() const { return entries_; }
    double seconds() const;  // total
    double flops() const;    // total

private:
    std::vector<Entry> entries_;
};

// Time and flops of the matmuls in transformer blocks. All ranks run such matmuls, so the speeds of ranks can
// be compared.
struct MatmulWork {
    double seconds = 0;
    double flops = 0;
    double full_flops = 0;        // flops that the rank would execute without resizing and migration
    double expected_seconds = 0;  // see Stream::expect_seconds
    double calls = 0;

    MatmulWork& operator+=(const MatmulWork& other);
    MatmulWork operator-(const MatmulWork& other) const;
    MatmulWork operator/(double count) const;
};

class GpuTimes;
class Trace;

struct Stream {
    std::variant<ReferenceStream, CpuStream, CudaStream, GhostStream> backend;
    Ledger ledger = {};
    MatmulWork matmuls = {};  // work of the matmuls in transformer blocks; also in the ledger
    // Times of kernels that are not in the ledger yet; null without a GPU.
    std::shared_ptr<GpuTimes> gpu_times = {};
    // Predicts the seconds of a kernel. Set on simulated devices and by profilers, otherwise empty.
    KernelTimePredictor predict_seconds = {};
    // Predicts the seconds of a matmul on a device that is the same for all ranks. A rank whose matmuls take
    // longer than expected, compared with other ranks, is slow.
    KernelTimePredictor expect_seconds = {};
    double clock = 1;  // clock of the device, as a fraction of its highest clock
    Slowness slowness = {};
    Trace* trace = nullptr;  // records kernels, except those of a GPU; null if no trace shows kernels
    kernels::ValueCheck* check = nullptr;  // checks the values that kernels read and write; null if off

    MemorySpace memory_space() const;  // memory space of the tensors of its kernels
    bool is_on_gpu() const { return std::holds_alternative<CudaStream>(backend); }
    // Waits for the GPU, if there is one. Afterwards the ledger has all kernels that were queued before.
    void synchronize();

    bool is_ghost() const { return std::holds_alternative<GhostStream>(backend); }
};

}  // namespace trireme::device
