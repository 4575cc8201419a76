// A shape in which a kernel traverses several tensors of equal size: one long row if possible.
#pragma once

#include "trireme/device/tensor.hpp"

namespace trireme::kernels::gpu {

struct CommonShape {
    std::size_t rows = 0;
    std::size_t columns = 0;

    // Returns one row if all tensors are contiguous, else the shape of `tensor`.
    template <class... Others>
    static CommonShape find(const device::ConstTensor& tensor, const Others&... others) {
        const bool has_gaps = !(tensor.is_contiguous() && ... && others.is_contiguous());
        return has_gaps ? CommonShape{tensor.rows, tensor.columns} : CommonShape{1, tensor.size()};
    }

    // Returns the elements of a tensor in this shape; null data if the tensor is absent. A tensor with gaps
    // between its rows must have this shape itself.
    template <class T, class View>
    auto make_elements(const View& tensor) const {
        using All = decltype(tensor.template as<T>());
        if (!tensor.is_present()) return All{};
        const All all = tensor.template as<T>(device::MemorySpace::gpu);
        return tensor.is_contiguous() ? All{all.data, rows, columns, columns} : all;
    }
};

}  // namespace trireme::kernels::gpu
