// Vectors: elements side by side in a row that a thread reads or writes at once, 16 bytes of them where the
// views allow it, else one.
#pragma once

#include "kernels/cuda/support/language.cuh"

namespace trireme::kernels::gpu {

inline constexpr std::size_t vector_bytes = 16;

template <class T>
inline constexpr unsigned vector_width = vector_bytes / sizeof(T);

// Numbers are computed with in the wide type and rounded once.
template <class T, unsigned width>
struct alignas(sizeof(T) * width < vector_bytes ? sizeof(T) * width : vector_bytes) Vector {
    T elements[width];

    __device__ Wide<T> operator[](unsigned i) const { return static_cast<Wide<T>>(elements[i]); }
    __device__ void set(unsigned i, Wide<T> value) { elements[i] = static_cast<T>(value); }
};

template <class To, class From, unsigned width>
__device__ Vector<To, width> converted(const Vector<From, width>& from) {
    Vector<To, width> to;
    for (unsigned i = 0; i < width; ++i) to.set(i, static_cast<Wide<To>>(from[i]));
    return to;
}

template <unsigned width, class T>
__device__ auto load(const T* address) {
    return *reinterpret_cast<const Vector<T, width>*>(address);
}

template <unsigned width, class T>
__device__ auto load(const device::Elements<T>& view, std::size_t row, std::size_t column) {
    return load<width, std::remove_const_t<T>>(view.row(row) + column);
}

template <class T, unsigned width>
__device__ void store(T* address, const Vector<T, width>& vector) {
    *reinterpret_cast<Vector<T, width>*>(address) = vector;
}

template <class T, unsigned width>
__device__ void store(const device::Elements<T>& view, std::size_t row, std::size_t column,
                      const Vector<T, width>& vector) {
    store(view.row(row) + column, vector);
}

// Sets what begins at `address`, or adds to it.
template <class T, unsigned width>
__device__ void put(T* address, Vector<T, width> vector, bool accumulate) {
    if (accumulate) {
        const Vector<T, width> past = load<width, T>(address);
        for (unsigned i = 0; i < width; ++i) vector.set(i, past[i] + vector[i]);
    }
    store(address, vector);
}

// True if every row of a view is whole vectors, which begin where they may; of an absent view, too.
template <unsigned width, class T>
bool consists_of_vectors(const device::Elements<T>& view) {
    constexpr std::size_t alignment = alignof(Vector<std::remove_const_t<T>, width>);
    const bool is_first_row_aligned = reinterpret_cast<std::uintptr_t>(view.data) % alignment == 0;
    return is_first_row_aligned && view.columns % width == 0 &&
           (view.rows <= 1 || view.stride * sizeof(T) % alignment == 0);
}

// True if all views consist of vectors with as many elements as 16 bytes have of T, whatever their own type is.
template <class T, class... Viewed>
bool has_vectors(const device::Elements<Viewed>&... views) {
    return (consists_of_vectors<vector_width<T>>(views) && ...);
}

// Calls `use` with the width of vectors, or with 1, as std::integral_constant.
template <class T, class Use>
void visit_width(bool has_vectors, Use&& use) {
    if (has_vectors) return use(std::integral_constant<unsigned, vector_width<T>>{});
    use(std::integral_constant<unsigned, 1>{});
}

}  // namespace trireme::kernels::gpu
