// Vectors: adjacent elements of a row that a thread loads or stores at once. A vector has 16 bytes if the
// alignment of all matrices of the operation allows it, else one element.
#pragma once

#include "kernels/cuda/support/language.cuh"

namespace trireme::kernels::gpu {

inline constexpr std::size_t vector_bytes = 16;

template <class T>
inline constexpr unsigned vector_width = vector_bytes / sizeof(T);

// Elements are read as Accumulator<T>, and rounded to T when they are set.
template <class T, unsigned width>
struct alignas(sizeof(T) * width < vector_bytes ? sizeof(T) * width : vector_bytes) Vector {
    T elements[width];

    __device__ Accumulator<T> operator[](unsigned i) const { return static_cast<Accumulator<T>>(elements[i]); }
    __device__ void set(unsigned i, Accumulator<T> value) { elements[i] = static_cast<T>(value); }
};

template <class To, class From, unsigned width>
__device__ Vector<To, width> convert(const Vector<From, width>& from) {
    Vector<To, width> to;
    for (unsigned i = 0; i < width; ++i) to.set(i, static_cast<Accumulator<To>>(from[i]));
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

// Stores a vector at `address` or, if `accumulate`, adds it to the values there.
template <class T, unsigned width>
__device__ void store_or_add(T* address, Vector<T, width> vector, bool accumulate) {
    if (accumulate) {
        const Vector<T, width> old_values = load<width, T>(address);
        for (unsigned i = 0; i < width; ++i) vector.set(i, old_values[i] + vector[i]);
    }
    store(address, vector);
}

// Returns true if every row of a view consists of whole, aligned vectors; also true for an absent view.
template <unsigned width, class T>
bool is_vector_aligned(const device::Elements<T>& view) {
    constexpr std::size_t alignment = alignof(Vector<std::remove_const_t<T>, width>);
    const bool is_first_row_aligned = reinterpret_cast<std::uintptr_t>(view.data) % alignment == 0;
    return is_first_row_aligned && view.columns % width == 0 &&
           (view.rows <= 1 || view.stride * sizeof(T) % alignment == 0);
}

// Returns true if a kernel may read and write all views in vectors of vector_width<T> elements. The views may
// have other types than T.
template <class T, class... Viewed>
bool may_use_vectors(const device::Elements<Viewed>&... views) {
    return (is_vector_aligned<vector_width<T>>(views) && ...);
}

// Calls use(std::integral_constant<unsigned, w>()); w is vector_width<T> if `may_use_vectors`, else 1.
template <class T, class Use>
void visit_width(bool may_use_vectors, Use&& use) {
    if (may_use_vectors) return use(std::integral_constant<unsigned, vector_width<T>>{});
    use(std::integral_constant<unsigned, 1>{});
}

}  // namespace trireme::kernels::gpu
