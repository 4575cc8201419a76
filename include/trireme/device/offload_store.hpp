// Memory outside a device, to which parts of the device's memory are copied, and from which they return, while
// the device computes.
#pragma once

#include <cstddef>
#include <memory>

#include "trireme/device/gpu.hpp"

namespace trireme::device {

class OffloadStore {
public:
    // A copy in progress.
    class Transfer {
    public:
        virtual ~Transfer() = default;
        // Waits until the copy has ended. On a GPU, the kernels that are launched later wait for a load, and
        // the caller does not.
        virtual void wait() = 0;
    };

    virtual ~OffloadStore() = default;

    // Start to copy `bytes` bytes at `memory` to byte `offset` of the store, or back. The memory must not be
    // used until the copy has ended. Copies run one after the other, in the order of the calls.
    virtual std::unique_ptr<Transfer> save(const std::byte* memory, std::size_t offset, std::size_t bytes) = 0;
    virtual std::unique_ptr<Transfer> load(std::byte* memory, std::size_t offset, std::size_t bytes) = 0;
};

// Returns a store of `bytes` bytes in pinned host memory, for a GPU whose kernels run in `compute_queue`, which
// must outlive the store. Throws ResourceError if the host has not enough memory.
std::unique_ptr<OffloadStore> make_pinned_store(GpuQueue& compute_queue, std::size_t bytes);

// Returns a store of `bytes` bytes for a simulated device with memory in `memory_space`. Its copies take the
// simulated time of a link.
std::unique_ptr<OffloadStore> make_simulated_store(MemorySpace memory_space, std::size_t bytes, double latency,
                                                   double bandwidth);

}  // namespace trireme::device
