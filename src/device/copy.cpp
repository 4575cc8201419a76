#include <cstring>

#include "trireme/device/buffer.hpp"
#include "trireme/device/gpu.hpp"

namespace trireme::device {
namespace {

void require_equal_shapes(const ConstTensor& from, const ConstTensor& to) {
    if (from.dtype == to.dtype && from.rows == to.rows && from.columns == to.columns) return;
    throw BugError(cat("cannot copy ", from.rows, " x ", from.columns, " elements of ", to_string(from.dtype),
                       " to ", to.rows, " x ", to.columns, " elements of ", to_string(to.dtype)));
}

void copy_in_host_memory(const ConstTensor& from, const Tensor& to) {
    if (from.is_contiguous() && to.is_contiguous()) {
        std::memcpy(to.data, from.data, from.bytes());
        return;
    }
    for (std::size_t r = 0; r < from.rows; ++r) {
        const ConstTensor row = from.row_range(r, 1);
        std::memcpy(to.row_range(r, 1).data, row.data, row.bytes());
    }
}

}  // namespace

void copy_rows(ConstTensor from, Tensor to, const WaitPolicy& wait_policy) {
    require_equal_shapes(from, to);
    if (!from.is_present() || from.memory_space == MemorySpace::ghost || to.memory_space == MemorySpace::ghost)
        return;
    if (from.memory_space == MemorySpace::host && to.memory_space == MemorySpace::host)
        return copy_in_host_memory(from, to);
    wait_for_gpu(from.memory_space == MemorySpace::gpu ? from.data : to.data, wait_policy);
    const std::size_t bytes_per_element = byte_size(from.dtype);
    copy_gpu_rows(to.data, to.stride * bytes_per_element, from.data, from.stride * bytes_per_element,
                  from.columns * bytes_per_element, from.rows);
}

}  // namespace trireme::device
