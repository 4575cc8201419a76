#include "trireme/stage/row_buffers.hpp"

namespace trireme::stage {

RowBuffers::RowBuffers(std::size_t rows, std::size_t width, device::DType dtype, device::MemorySpace place)
    : most_rows_(rows), width_(width), dtype_(dtype), place_(place) {}

device::Tensor RowBuffers::take(std::size_t rows) {
    if (rows > most_rows_) {
        throw BugError(cat("a buffer of ", most_rows_, " rows was asked for ", rows));
    }
    if (free_.empty()) make_one();
    std::byte* const data = free_.back();
    free_.pop_back();
    return {data, dtype_, rows, width_, width_, place_};
}

void RowBuffers::give_back(const device::Tensor& tensor) {
    free_.push_back(static_cast<std::byte*>(tensor.data));
}

void RowBuffers::reserve(std::size_t count) {
    while (buffers_.size() < count) make_one();
}

}  // namespace trireme::stage
