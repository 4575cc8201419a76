// A pool of buffers of one size for activations and gradients between stages. They are allocated on first use
// or by reserve(), and reused.
#pragma once

#include <vector>

#include "trireme/device/buffer.hpp"

namespace trireme::stage {

class RowBuffers {
public:
    // Each buffer holds (rows, width).
    RowBuffers(std::size_t rows, std::size_t width, device::DType dtype, device::MemorySpace place);

    device::Tensor take(std::size_t rows);  // (rows, width), contiguous
    void give_back(const device::Tensor& tensor);

    void reserve(std::size_t count);
    std::size_t count() const { return buffers_.size(); }
    std::size_t bytes_each() const { return most_rows_ * width_ * bytes_of(dtype_); }

private:
    void make_one() { free_.push_back(buffers_.emplace_back(bytes_each(), place_).data()); }

    std::size_t most_rows_, width_;
    device::DType dtype_;
    device::MemorySpace place_;
    std::vector<device::Buffer> buffers_;
    std::vector<std::byte*> free_;
};

}  // namespace trireme::stage
