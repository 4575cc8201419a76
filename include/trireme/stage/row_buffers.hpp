// A pool of buffers of one size, for the activations and gradients that pass from stage to stage. A buffer is
// allocated by reserve(), or by take() if no buffer is free. A buffer is reused after give_back().
#pragma once

#include <vector>

#include "trireme/device/buffer.hpp"

namespace trireme::stage {

class RowBuffers {
public:
    // Each buffer has room for a tensor (max_rows, width).
    RowBuffers(std::size_t max_rows, std::size_t width, device::DType dtype, device::MemorySpace memory_space);

    // Returns a contiguous tensor (rows, width), which is not cleared. Throws BugError if `rows` exceeds
    // max_rows.
    device::Tensor take(std::size_t rows);
    // Frees the buffer of a tensor that take() has returned.
    void give_back(const device::Tensor& tensor);

    // Allocates buffers until there are `count`, including those in use.
    void reserve(std::size_t count);
    std::size_t count() const { return buffers_.size(); }  // number of allocated buffers
    std::size_t bytes_per_buffer() const { return max_rows_ * width_ * byte_size(dtype_); }

private:
    void allocate_one() {
        free_buffers_.push_back(buffers_.emplace_back(bytes_per_buffer(), memory_space_).data());
    }

    std::size_t max_rows_, width_;
    device::DType dtype_;
    device::MemorySpace memory_space_;
    std::vector<device::Buffer> buffers_;
    std::vector<std::byte*> free_buffers_;
};

}  // namespace trireme::stage
