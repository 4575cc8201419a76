// Where work runs, and the ledger of what ran there.
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

struct ReferenceStream {};  // plain loops: the oracle
struct CpuStream {
    int threads = 1;
};
struct CudaStream {
    std::shared_ptr<kernels::GpuWork> work;  // that copies of this share; never null
};
struct GhostStream {};  // shapes and costs, no arithmetic; never follows an address

// What one kernel call costs at least, whoever runs it.
struct Cost {
    std::string_view kernel;  // a literal: "linear"
    double flops = 0;         // multiplications and additions of its matrix products
    double bytes = 0;         // read and written once
    std::array<std::size_t, 3>
        product{};  // rows, columns and depth of its matrix product; zeros if it has none

    // With weights, that is: attention's are many small ones.
    bool is_product() const { return product[0] > 0; }
};

// How fast a device is that somebody described: what its kernels take in a simulation.
struct DeviceRates {
    double flops = 0;      // a second, of the run's numbers
    double bandwidth = 0;  // of its memory, bytes a second
    double launch = 0;     // seconds of any kernel, beside its work

    // Arithmetic hides behind memory, or memory behind arithmetic. `clock` is a share of the highest one, which
    // memory does not follow.
    double seconds(const Cost& cost, double clock = 1) const {
        return std::max(cost.flops / (flops * clock), cost.bytes / bandwidth) + launch;
    }
};

// What a kernel takes on a simulated device, at a share of its highest clock.
using KernelSeconds = std::function<double(const Cost& cost, double clock)>;

// Calls, seconds and costs by kernel and shape, in order of first use.
class Ledger {
public:
    struct Entry {
        Cost unit;  // the kernel's name and product; flops and bytes summed over the calls
        std::size_t calls = 0;
        double seconds = 0;
    };
    void add(const Cost& cost, double seconds);
    void clear() { entries_.clear(); }
    const std::vector<Entry>& entries() const { return entries_; }
    double seconds() const;  // in all
    double flops() const;    // in all

private:
    std::vector<Entry> entries_;
};

// What the matrix products of blocks took, which all ranks have alike, more or fewer of them.
struct ProductWork {
    double seconds = 0;
    double flops = 0;
    double whole_flops = 0;  // that they would have had if nothing had been left out

    ProductWork& operator+=(const ProductWork& other);
    ProductWork operator-(const ProductWork& other) const;
    ProductWork operator/(double count) const;
};

class GpuTimes;
class Trace;

struct Stream {
    std::variant<ReferenceStream, CpuStream, CudaStream, GhostStream> backend;
    Ledger ledger = {};
    ProductWork products = {};  // among what is in the ledger
    std::shared_ptr<GpuTimes> gpu_times =
        {};                         // of kernels that are not in the ledger yet; none: it is no GPU's
    KernelSeconds seconds_of = {};  // of a simulated device; none: kernels take what they take
    double clock = 1;               // of the device, as a share of its highest
    Slowness slowness = {};
    Trace* trace = nullptr;                // notes kernels, but for a GPU's; null: no trace shows them
    kernels::ValueCheck* check = nullptr;  // sees what kernels read and write; null: no check

    MemorySpace place() const;  // of the tensors that its kernels are given
    bool is_on_gpu() const { return std::holds_alternative<CudaStream>(backend); }
    // Waits for the GPU, if there is one, so that the ledger has all kernels until now.
    void settle();

    bool is_ghost() const { return std::holds_alternative<GhostStream>(backend); }
};

}  // namespace trireme::device
