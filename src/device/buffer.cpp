#include "trireme/device/buffer.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <utility>

#include "trireme/base/numbers.hpp"
#include "trireme/device/gpu.hpp"

namespace trireme::device {
namespace {

constexpr std::size_t ghost_capacity = std::size_t{1} << 56;  // more than any host has
// The address of all ghost buffers, which have no memory. It is not null, and no code dereferences it.
std::byte* const ghost_address = reinterpret_cast<std::byte*>(std::size_t{1} << 57);

std::byte* map_pages(std::size_t bytes) {
    void* pages =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == MAP_FAILED) {
        throw ResourceError(cat("the host has no memory for a buffer of ", bytes / 1'000'000,
                                " MB; use a smaller --batch, more --microbatches or more ranks"));
    }
    // Some Linux kernels refuse this hint; then memory access is slower.
    madvise(pages, bytes, MADV_HUGEPAGE);
    return static_cast<std::byte*>(pages);
}

std::byte* allocate(std::size_t bytes, MemorySpace memory_space) {
    switch (memory_space) {
        case MemorySpace::host:
            return map_pages(bytes);
        case MemorySpace::gpu:
            return allocate_gpu_memory(bytes);
        case MemorySpace::ghost:
            return ghost_address;
    }
    throw BugError("unknown memory space");
}

}  // namespace

Buffer::Buffer(std::size_t bytes, MemorySpace memory_space) : bytes_(bytes), memory_space_(memory_space) {
    if (bytes == 0) return;
    data_ = allocate(bytes, memory_space);
}

Buffer::Buffer(Buffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      memory_space_(other.memory_space_) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(memory_space_, other.memory_space_);
    return *this;
}

Buffer::~Buffer() {
    if (data_ == nullptr) return;
    if (memory_space_ == MemorySpace::host) munmap(data_, bytes_);
    if (memory_space_ == MemorySpace::gpu) free_gpu_memory(data_);
}

Arena::Arena(std::string name, std::size_t capacity_bytes, MemorySpace memory_space)
    : name_(std::move(name)),
      buffer_(memory_space == MemorySpace::ghost ? ghost_capacity : capacity_bytes, memory_space),
      memory_(buffer_.data()),
      capacity_bytes_(buffer_.bytes()) {}

void Arena::move_to(std::byte* memory, std::size_t capacity_bytes) {
    buffer_ = Buffer(0, buffer_.memory_space());
    memory_ = memory;
    capacity_bytes_ = capacity_bytes;
    used_bytes_ = peak_bytes_ = 0;
}

Tensor Arena::tensor(DType dtype, std::size_t rows, std::size_t columns) {
    const std::size_t begin = round_up_to_cache_lines(used_bytes_);
    const std::size_t end = begin + rows * columns * byte_size(dtype);
    if (end > capacity_bytes_) {
        throw ArenaOverflow(cat("the ", name_, " arena needs ", end, " bytes, but was predicted to need only ",
                                capacity_bytes_));
    }
    used_bytes_ = end;
    peak_bytes_ = std::max(peak_bytes_, end);
    return {memory_ + begin, dtype, rows, columns, columns, buffer_.memory_space()};
}

}  // namespace trireme::device
