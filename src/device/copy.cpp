#include <cstring>

#include "trireme/device/buffer.hpp"
#include "trireme/device/gpu.hpp"

namespace trireme::device {
namespace {

void require_alike(const ConstTensor& from, const ConstTensor& to) {
    if (from.dtype == to.dtype && from.rows == to.rows && from.columns == to.columns) return;
    throw BugError(cat("a tensor of ", name_of(from.dtype), " ", from.rows, " x ", from.columns,
                       " was copied to one of ", name_of(to.dtype), " ", to.rows, " x ", to.columns));
}

void copy_in_memory(const ConstTensor& from, const Tensor& to) {
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

void copy_rows(ConstTensor from, Tensor to, const Patience& patience) {
    require_alike(from, to);
    if (!from.is_present() || from.place == MemorySpace::ghost || to.place == MemorySpace::ghost) return;
    if (from.place == MemorySpace::host && to.place == MemorySpace::host) return copy_in_memory(from, to);
    wait_for_gpu(from.place == MemorySpace::gpu ? from.data : to.data, patience);
    const std::size_t element = bytes_of(from.dtype);
    copy_gpu_rows(to.data, to.stride * element, from.data, from.stride * element, from.columns * element,
                  from.rows);
}

}  // namespace trireme::device
