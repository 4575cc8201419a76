// Memory: its owners, how much of it there is, and copies and sums of tensors in it.
#pragma once

#include <cstddef>
#include <string>

#include "trireme/device/tensor.hpp"
#include "trireme/device/wait.hpp"

namespace trireme::device {

// Owns zeroed, aligned memory. Pages of the machine's cost nothing until they are touched.
class Buffer {
public:
    Buffer() = default;
    Buffer(std::size_t bytes, MemorySpace place);  // throws ResourceError if there is no more
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

// Hands out tensors one after the other from one buffer; `release` takes back all that came after a `mark`.
// A ghost arena has no end and counts: its peak() is the capacity that a real one needs for the same calls.
class Arena {
public:
    Arena(std::string name, std::size_t capacity_bytes, MemorySpace place);

    Tensor tensor(DType dtype, std::size_t rows, std::size_t columns);  // starts on a cache line; not cleared
    std::size_t mark() const { return used_; }
    void release(std::size_t mark) { used_ = mark; }

    std::size_t peak() const { return peak_; }  // bytes

private:
    std::string name_;  // for the message when it overflows
    Buffer buffer_;
    std::size_t used_ = 0;
    std::size_t peak_ = 0;
};

// Gives back, at the end of a scope, what was taken from an arena in it.
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

// Both are of the same type and shape, in the machine's memory or the GPU's, and do not overlap. Where either
// is the GPU's, behind all that this process has given it to do, and done when it returns; so long it waits for
// it. Nothing is copied where either is a ghost. Throws BugError where they differ.
void copy_rows(ConstTensor from, Tensor to, const Patience& patience = {});

// own = values of rank 0 + of rank 1 + ..., where those of rank `self` are in `own` (1, elements) and the
// others' in the rows of `others` (ranks - 1, elements), in their order. All are of one floating-point type and
// in one place; of the GPU's, behind all that this process has given it to do. Nothing is done to ghosts.
void sum_in_order(Tensor own, std::size_t self, ConstTensor others);

}  // namespace trireme::device
