// Classes that own device memory, and functions that copy and sum tensors.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "trireme/base/error.hpp"
#include "trireme/device/tensor.hpp"
#include "trireme/device/wait.hpp"

namespace trireme::device {

// Owns a block of zeroed, aligned memory. Pages of host memory take no space until they are touched. A buffer
// in MemorySpace::ghost has an address but no memory.
class Buffer {
public:
    Buffer() = default;
    Buffer(std::size_t bytes, MemorySpace memory_space);  // throws ResourceError if out of memory
    Buffer(Buffer&& other) noexcept;
    Buffer& operator=(Buffer&& other) noexcept;
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    ~Buffer();

    std::byte* data() const { return data_; }
    std::size_t bytes() const { return bytes_; }
    MemorySpace memory_space() const { return memory_space_; }

private:
    std::byte* data_ = nullptr;
    std::size_t bytes_ = 0;
    MemorySpace memory_space_ = MemorySpace::host;
};

// A part of a buffer. The buffer lives as long as any of its parts.
struct BufferPart {
    std::shared_ptr<const Buffer> buffer = {};
    std::size_t offset = 0;  // bytes
    std::size_t bytes = 0;

    std::byte* data() const { return buffer->data() + offset; }
};

// Thrown if an arena is asked for more memory than it has.
struct ArenaOverflow : BugError {
    explicit ArenaOverflow(const std::string& what, SourcePosition where = SourcePosition::here())
        : BugError(what, where) {}
};

// A stack allocator: allocates tensors one after the other in one block of memory. release(m) frees all tensors
// that were allocated since mark() returned m. An arena in MemorySpace::ghost has no memory and never
// overflows. The peak() of a ghost arena is the capacity that a real arena needs for the same calls.
class Arena {
public:
    // Makes an arena that owns its memory.
    Arena(std::string name, std::size_t capacity_bytes, MemorySpace memory_space);
    // Frees all tensors, and makes the arena allocate in `memory`, which the arena does not own. `memory`
    // starts on a cache line, and is in the memory space of the arena.
    void move_to(std::byte* memory, std::size_t capacity_bytes);

    // Allocates a contiguous tensor (rows, columns), which starts on a cache line and is not cleared. Throws
    // ArenaOverflow if the arena is full.
    Tensor tensor(DType dtype, std::size_t rows, std::size_t columns);
    std::size_t mark() const { return used_bytes_; }
    void release(std::size_t mark) { used_bytes_ = mark; }

    std::size_t peak() const { return peak_bytes_; }  // bytes

private:
    std::string name_;  // for the message of an overflow
    Buffer buffer_;     // empty after move_to()
    std::byte* memory_;
    std::size_t capacity_bytes_;
    std::size_t used_bytes_ = 0;
    std::size_t peak_bytes_ = 0;
};

// A scope guard: releases all tensors that were allocated from an arena within the scope.
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

// Copies between tensors of equal type and shape, in host or GPU memory. The tensors must not overlap. If a
// tensor is on the GPU, the copy runs after all work that this process has queued on the GPU, except work in
// non-blocking queues (see GpuQueue). The copy is complete on return; `wait_policy` bounds the wait. No-op if a
// tensor is a ghost. Throws BugError if types or shapes differ.
void copy_rows(ConstTensor from, Tensor to, const WaitPolicy& wait_policy = {});

// Adds the values of all ranks in rank order: rank 0 + rank 1 + ... `own` (1, elements) has the values of rank
// `own_rank`, and receives the sum. `others` (ranks - 1, elements) has the values of the other ranks, one row
// per rank in rank order. `own` and `others` have the same floating-point type and memory space. On the GPU the
// sum is queued after all work of this process, except work in non-blocking queues. No-op for ghosts.
void sum_in_order(Tensor own, std::size_t own_rank, ConstTensor others);

}  // namespace trireme::device
