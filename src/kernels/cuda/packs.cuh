// Matrices in packs: elements side by side that a thread reads or writes at once, 16 bytes where a matrix lies
// so that it can be.
#pragma once

#include <limits>

#include "kernels/cuda/language.cuh"
#include "trireme/base/error.hpp"

namespace trireme::gpu {

inline constexpr std::size_t widest_access = 16;  // bytes
inline constexpr unsigned pack_threads = 256;

template <class T>
inline constexpr unsigned numbers_at_once = widest_access / sizeof(T);

template <class T, unsigned count>
struct alignas(sizeof(T) * count < widest_access ? sizeof(T) * count : widest_access) Pack {
    T of[count];
};

// The pack that begins at `first`.
template <unsigned count, class T>
__device__ auto& pack_at(T* first) {
    using Element = std::remove_const_t<T>;
    using Whole = std::conditional_t<std::is_const_v<T>, const Pack<Element, count>, Pack<Element, count>>;
    return *reinterpret_cast<Whole*>(first);
}

// Rounded by way of a float where one of them is a bf16.
template <class To, class From>
__device__ constexpr To number_as(From value) {
    constexpr bool has_bf16 = std::is_same_v<To, Bf16> || std::is_same_v<From, Bf16>;
    using Between = std::conditional_t<has_bf16, float, To>;
    return static_cast<To>(static_cast<Between>(value));
}

// Sets what begins at `to`, or adds to it.
template <unsigned count, class T>
__device__ void write_pack(T* to, Pack<T, count> value, bool accumulate) {
    Pack<T, count>& written = pack_at<count>(to);
    if (accumulate) {
        const Pack<T, count> there = written;
        for (unsigned k = 0; k < count; ++k)
            value.of[k] = static_cast<T>(static_cast<Wide<T>>(there.of[k]) + static_cast<Wide<T>>(value.of[k]));
    }
    written = value;
}

// True if all rows consist of packs of so many elements; of an absent matrix, too.
template <unsigned count, class T>
bool is_in_packs(const Elements<T>& matrix) {
    constexpr std::size_t alignment = alignof(Pack<std::remove_const_t<T>, count>);
    return reinterpret_cast<std::uintptr_t>(matrix.data) % alignment == 0 && matrix.columns % count == 0 &&
           (matrix.rows <= 1 || matrix.stride * sizeof(T) % alignment == 0);
}

// Calls use(std::integral_constant<unsigned, n>{}) with the elements of a pack: `count`, or 1 where not all of
// the matrices allow more.
template <unsigned count, class Use, class... T>
void with_packs(Use&& use, const Elements<T>&... matrices) {
    if ((is_in_packs<count>(matrices) && ...)) {
        use(std::integral_constant<unsigned, count>{});
    } else {
        use(std::integral_constant<unsigned, 1>{});
    }
}

// A number of threads, or of blocks.
inline unsigned checked_count(std::size_t count) {
    if (count <= std::numeric_limits<std::int32_t>::max()) return static_cast<unsigned>(count);
    throw BugError(cat("a kernel was asked for ", count, " times the same"));
}

template <class Work>
__global__ void __launch_bounds__(pack_threads) visit_packs(Work work, unsigned packs, unsigned packs_of_row) {
    const unsigned pack = blockIdx.x * blockDim.x + threadIdx.x;
    if (pack >= packs) return;
    work(std::size_t{pack / packs_of_row}, std::size_t{pack % packs_of_row} * Work::count);
}

// Calls work(row, column) on the GPU, where `column` is that of the first element, for each pack of
// Work::count elements.
template <class Work>
void for_each_pack(CudaStream& stream, std::size_t rows, std::size_t columns, const Work& work) {
    const std::size_t packs_of_row = columns / Work::count;
    const unsigned packs = checked_count(rows * packs_of_row);
    start(stream, {.blocks_x = static_cast<unsigned>(parts(packs, pack_threads)), .threads = pack_threads},
          visit_packs<Work>, work, packs, checked_count(packs_of_row));
}

// How tensors of equally many elements are walked through.
struct Walk {
    std::size_t rows = 0;
    std::size_t columns = 0;

    // Row by row as `tensor` lies, or as one row where none of the others has gaps either.
    template <class... Others>
    static Walk through(const ConstTensor& tensor, const Others&... others) {
        const bool has_gaps = !(tensor.is_contiguous() && ... && others.is_contiguous());
        return has_gaps ? Walk{tensor.rows, tensor.columns} : Walk{1, tensor.size()};
    }

    // The elements of a tensor in this shape, which is its own if it has gaps. Without data where it is absent.
    template <class T, class View>
    auto elements_of(const View& tensor) const {
        using All = decltype(elements<T>(tensor));
        if (!tensor.is_present()) return All{};
        const All all = elements<T>(tensor);
        return tensor.is_contiguous() ? All{all.data, rows, columns, columns} : all;
    }
};

}  // namespace trireme::gpu
