// Owners of device memory, and copies and sums of tensors.
#pragma once

#include <cstddef>
#include <string>

#include "trireme/device/tensor.hpp"
#include "trireme/device/wait.hpp"

namespace trireme::device {

// Owns zeroed, aligned memory. Pages of host memory take no space until they are touched.
class Buffer {
public:
    Buffer() = default;
    Buffer(std::size_t bytes, MemorySpace place);  // throws ResourceError if out of memory
    Buffer(Buffer&& other) noexcept;
    Buffer& operator=(Buffer&& other) noexcept;
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    ~Buffer();

    std::byte* data() const { return data_; }
    std::size_t bytes() const { return bytes_; }
    MemorySpace place() const { return place_; }

private:
    std::byte* data_ = nullptr;
    std::size_t bytes_ = 0;
    MemorySpace place_ = MemorySpace::host;
};

// A stack allocator: tensors come one after the other from one buffer. `release`
// frees all that were taken after a `mark`. A ghost arena never overflows; its
// peak() is the capacity that a real one needs for the same calls.
class Arena {
public:
    Arena(std::string name, std::size_t capacity_bytes, MemorySpace place);

    // The tensor starts on a cache line and is not cleared. Throws BugError if the arena overflows.
    Tensor tensor(DType dtype, std::size_t rows, std::size_t columns);
    std::size_t mark() const { return used_; }
    void release(std::size_t mark) { used_ = mark; }

    std::size_t peak() const { return peak_; }  // bytes

private:
    std::string name_;  // for the message of an overflow
    Buffer buffer_;
    std::size_t used_ = 0;
    std::size_t peak_ = 0;
};

// Releases, at the end of a scope, all tensors that were taken from an arena within it.
class ArenaScope {
public:
    explicit ArenaScope(Arena& arena) : arena_(arena), mark_(arena.mark()) {}
    ~ArenaScope() { arena_.release(mark_); }
    ArenaScope(const ArenaScope&) = delete;
    ArenaScope& operator=(const ArenaScope&) = delete;

private:
    Arena& arena_;
    std::size_t mark_;
};

// Copies between tensors of equal type and shape, in host or GPU memory, that do not overlap. If either is on
// the GPU, the copy runs after all work that this process has queued there, and is complete on return;
// `patience` bounds the wait. Copies nothing if either is a ghost. Throws BugError if types or shapes differ.
void copy_rows(ConstTensor from, Tensor to, const Patience& patience = {});

// Computes own = values of rank 0 + values of rank 1 + ... in this order. The values of rank `self` are in
// `own` (1, elements), those of the others are the rows of `others` (ranks - 1, elements), in rank order. All
// have one floating-point type and one memory space. On the GPU the sum is queued after all work of this
// process. No-op for ghosts.
void sum_in_order(Tensor own, std::size_t self, ConstTensor others);

}  // namespace trireme::device
