#include "trireme/stage/row_buffers.hpp"

namespace trireme::stage {

RowBuffers::RowBuffers(std::size_t max_rows, std::size_t width, device::DType dtype,
                       device::MemorySpace memory_space)
    : max_rows_(max_rows), width_(width), dtype_(dtype), memory_space_(memory_space) {}

device::Tensor RowBuffers::take(std::size_t rows) {
    if (rows > max_rows_) {
        throw BugError(cat(rows, " rows do not fit into a buffer of ", max_rows_));
    }
    if (free_buffers_.empty()) allocate_one();
    std::byte* const data = free_buffers_.back();
    free_buffers_.pop_back();
    return {data, dtype_, rows, width_, width_, memory_space_};
}

void RowBuffers::give_back(const device::Tensor& tensor) {
    free_buffers_.push_back(static_cast<std::byte*>(tensor.data));
}

void RowBuffers::reserve(std::size_t count) {
    while (buffers_.size() < count) allocate_one();
}

}  // namespace trireme::stage
