// How tensors of equally many elements are walked through together.
#pragma once

#include "trireme/device/tensor.hpp"

namespace trireme::kernels::gpu {

struct Walk {
    std::size_t rows = 0;
    std::size_t columns = 0;

    // Row by row as `tensor` lies, or as one row where none of the others has gaps either.
    template <class... Others>
    static Walk through(const device::ConstTensor& tensor, const Others&... others) {
        const bool has_gaps = !(tensor.is_contiguous() && ... && others.is_contiguous());
        return has_gaps ? Walk{tensor.rows, tensor.columns} : Walk{1, tensor.size()};
    }

    // The elements of a tensor in this shape, which is its own if it has gaps. Without data where it is absent.
    template <class T, class View>
    auto elements_of(const View& tensor) const {
        using All = decltype(tensor.template as<T>());
        if (!tensor.is_present()) return All{};
        const All all = tensor.template as<T>(device::MemorySpace::gpu);
        return tensor.is_contiguous() ? All{all.data, rows, columns, columns} : all;
    }
};

}  // namespace trireme::kernels::gpu
