// Neighbouring elements of a row that are read or written at once: 16 bytes where they lie on 16 bytes.
#pragma once

#include "kernels/cuda/language.cuh"

namespace trireme::gpu {

template <class T, unsigned count>
struct alignas(count * sizeof(T)) Pack {
    T of[count];
};

template <class T>
inline constexpr unsigned pack_size = 16 / sizeof(T);

template <unsigned count, class T>
__device__ Pack<T, count> load_pack(const T* from) {
    return *reinterpret_cast<const Pack<T, count>*>(from);
}

template <class T, unsigned count>
__device__ void store_pack(T* to, const Pack<T, count>& pack) {
    *reinterpret_cast<Pack<T, count>*>(to) = pack;
}

// Elements from here to the next 16 bytes.
template <class T>
__device__ unsigned until_aligned(const T* row) {
    const auto beyond = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(row) % 16 / sizeof(T));
    return beyond == 0 ? 0 : pack_size<T> - beyond;
}

template <unsigned count>
using Count = std::integral_constant<unsigned, count>;

// Calls use(Count<n>, column) so that the threads of the block share the row: for its packs, and with n = 1 for
// what lies before and behind them. A thread's columns ascend.
template <class T, class Use>
__device__ void for_each_pack(const T* row, unsigned columns, Use&& use) {
    const unsigned peeled = until_aligned(row);
    const unsigned head = peeled < columns ? peeled : columns;
    const unsigned packs = (columns - head) / pack_size<T>;
    if (threadIdx.x < head) use(Count<1>{}, threadIdx.x);
#pragma unroll 2
    for (unsigned p = threadIdx.x; p < packs; p += blockDim.x) {
        use(Count<pack_size<T>>{}, head + p * pack_size<T>);
    }
    const unsigned rest = head + packs * pack_size<T> + threadIdx.x;
    if (rest < columns) use(Count<1>{}, rest);
}

// Whether packs of 16 bytes fill every row of all of these, which have as many columns. Absent ones have no
// rows.
template <class T, class... More>
bool are_packed(const Elements<T>& first, const More&... more) {
    constexpr std::size_t size = pack_size<T>;
    const bool is_aligned = reinterpret_cast<std::uintptr_t>(first.data) % 16 == 0;
    const bool is_packed = first.rows == 0 || (is_aligned && first.columns % size == 0 &&
                                               (first.rows == 1 || first.stride % size == 0));
    if constexpr (sizeof...(more) == 0) {
        return is_packed;
    } else {
        return is_packed && are_packed(more...);
    }
}

}  // namespace trireme::gpu
