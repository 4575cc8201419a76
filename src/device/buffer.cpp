#include "trireme/device/buffer.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <utility>

#include "trireme/device/gpu.hpp"

namespace trireme::device {
namespace {

constexpr std::size_t cache_line = 64;
constexpr std::size_t ghost_capacity = std::size_t{1} << 56;  // more than any host has
std::byte* const ghost_base = reinterpret_cast<std::byte*>(std::size_t{1} << 57);

std::byte* map_pages(std::size_t bytes) {
    void* pages =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == MAP_FAILED) {
        throw ResourceError(cat("no memory for a buffer of ", bytes / 1'000'000,
                                " MB; use a smaller --batch, more --microbatches or more ranks"));
    }
    madvise(pages, bytes, MADV_HUGEPAGE);  // a hint that some kernels refuse; then access is merely slower
    return static_cast<std::byte*>(pages);
}

std::byte* take(std::size_t bytes, MemorySpace place) {
    switch (place) {
        case MemorySpace::host:
            return map_pages(bytes);
        case MemorySpace::gpu:
            return take_gpu_memory(bytes);
        case MemorySpace::ghost:
            return ghost_base;
    }
    throw BugError("unknown place");
}

}  // namespace

Buffer::Buffer(std::size_t bytes, MemorySpace place) : bytes_(bytes), place_(place) {
    if (bytes == 0) return;
    data_ = take(bytes, place);
}

Buffer::Buffer(Buffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      place_(other.place_) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(place_, other.place_);
    return *this;
}

Buffer::~Buffer() {
    if (data_ == nullptr) return;
    if (place_ == MemorySpace::host) munmap(data_, bytes_);
    if (place_ == MemorySpace::gpu) give_back_gpu_memory(data_);
}

Arena::Arena(std::string name, std::size_t capacity_bytes, MemorySpace place)
    : name_(std::move(name)), buffer_(place == MemorySpace::ghost ? ghost_capacity : capacity_bytes, place) {}

Tensor Arena::tensor(DType dtype, std::size_t rows, std::size_t columns) {
    const std::size_t begin = (used_ + cache_line - 1) / cache_line * cache_line;
    const std::size_t end = begin + rows * columns * bytes_of(dtype);
    if (end > buffer_.bytes()) {
        throw BugError(cat("the ", name_, " arena of ", buffer_.bytes(), " bytes cannot hold ", end,
                           "; its size was predicted too small"));
    }
    used_ = end;
    peak_ = std::max(peak_, end);
    return {buffer_.data() + begin, dtype, rows, columns, columns, buffer_.place()};
}

}  // namespace trireme::device
