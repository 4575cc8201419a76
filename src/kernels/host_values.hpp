// Read access to the elements of a tensor from host code.
#pragma once

#include <vector>

#include "trireme/device/buffer.hpp"
#include "trireme/device/gpu_times.hpp"
#include "trireme/device/stream.hpp"
#include "trireme/device/tensor.hpp"

namespace trireme::kernels {

// Makes the elements of a tensor readable in host memory for the lifetime of this object. For a GPU tensor, the
// constructor waits for the stream and copies the tensor. A host tensor is not copied. The stream must not be a
// ghost stream, because the tensors of a ghost stream have no values.
class HostValues {
public:
    HostValues(device::Stream& stream, const device::ConstTensor& values) : values_(values) {
        if (values.memory_space != device::MemorySpace::gpu) return;
        stream.gpu_times->queue().wait();
        copy_.resize(values.bytes());
        const device::Tensor copy{copy_.data(), values.dtype, values.rows, values.columns, values.columns};
        copy_rows(values, copy);
        values_ = copy;
    }

    template <class T>
    device::Elements<const T> as() const {
        return values_.as<T>();
    }

private:
    std::vector<std::byte> copy_;
    device::ConstTensor values_;
};

}  // namespace trireme::kernels
