// A stream: where kernels run, and the ledger of what ran there.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>
#include <variant>
#include <vector>

#include "trireme/device/slowness.hpp"
#include "trireme/device/tensor.hpp"

namespace trireme::kernels {
class GpuWork;
class ValueCheck;
}  // namespace trireme::kernels

namespace trireme::device {

struct ReferenceStream {};  // plain loops: the reference for tests
struct CpuStream {
    int threads = 1;
};
struct CudaStream {
    std::shared_ptr<kernels::GpuWork> work;  // shared by all copies; never null
};
struct GhostStream {};  // shapes and costs, no arithmetic; never follows an address

// The minimal cost of one kernel call, on any backend.
struct Cost {
    std::string_view kernel;               // a literal: "linear"
    double flops = 0;                      // multiplications and additions of its matmuls
    double bytes = 0;                      // each operand read or written once
    std::array<std::size_t, 3> product{};  // rows, columns and depth of its matmul; zeros if it has none

    // True for a matmul with weights. Attention has many small matmuls, which do not count.
    bool is_product() const { return product[0] > 0; }
};

// Speed of a described device: a roofline model for kernels in a simulation.
struct DeviceRates {
    double flops = 0;      // per second, in the run's number type
    double bandwidth = 0;  // of its memory, bytes per second
    double launch = 0;     // overhead of each kernel in seconds

    // Arithmetic and memory access overlap, so the longer one counts. `clock` is a fraction of the highest
    // clock; memory does not depend on it.
    double seconds(const Cost& cost, double clock = 1) const {
        return std::max(cost.flops / (flops * clock), cost.bytes / bandwidth) + launch;
    }
};

// Returns the seconds of a kernel on a simulated device. `clock` is a fraction of the highest clock.
using KernelSeconds = std::function<double(const Cost& cost, double clock)>;

// Calls, seconds and costs by kernel and shape, in order of first use.
class Ledger {
public:
    struct Entry {
        Cost unit;  // name and matmul shape of the kernel; flops and bytes summed over the calls
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

// Time and flops of the matmuls of transformer blocks. All
// ranks run this kind of work, so their speeds compare.
struct ProductWork {
    double seconds = 0;
    double flops = 0;
    double whole_flops = 0;  // flops that the rank would have without resizing and migration

    ProductWork& operator+=(const ProductWork& other);
    ProductWork operator-(const ProductWork& other) const;
    ProductWork operator/(double count) const;
};

class GpuTimes;
class Trace;

struct Stream {
    std::variant<ReferenceStream, CpuStream, CudaStream, GhostStream> backend;
    Ledger ledger = {};
    ProductWork products = {};                 // the ledger's matmuls of transformer blocks
    std::shared_ptr<GpuTimes> gpu_times = {};  // times kernels that the ledger lacks yet; null without a GPU
    KernelSeconds seconds_of = {};             // set on simulated devices and by profilers; otherwise empty
    double clock = 1;                          // of the device, as a fraction of its highest
    Slowness slowness = {};
    Trace* trace = nullptr;                // records kernels, except on a GPU; null if no trace shows them
    kernels::ValueCheck* check = nullptr;  // sees what kernels read and write; null if off

    MemorySpace place() const;  // memory space of the tensors that its kernels take
    bool is_on_gpu() const { return std::holds_alternative<CudaStream>(backend); }
    // Waits for the GPU, if there is one, so that the ledger has all kernels queued so far.
    void settle();

    bool is_ghost() const { return std::holds_alternative<GhostStream>(backend); }
};

}  // namespace trireme::device
