// Vectors: elements side by side in a row that a thread reads or writes at once, 16 bytes of them where the
// views allow it, else one.
#pragma once

#include "kernels/cuda/language.cuh"

namespace trireme::gpu {

inline constexpr std::size_t vector_bytes = 16;

template <class T>
inline constexpr unsigned vector_width = vector_bytes / sizeof(T);

// Numbers are computed with in the wide type and rounded once.
template <class T, unsigned width>
struct alignas(sizeof(T) * width) Vector {
    T elements[width];

    __device__ Wide<T> operator[](unsigned i) const { return static_cast<Wide<T>>(elements[i]); }
    __device__ void set(unsigned i, Wide<T> value) { elements[i] = static_cast<T>(value); }
};

template <unsigned width, class T>
__device__ auto load(const T* address) {
    return *reinterpret_cast<const Vector<T, width>*>(address);
}

template <unsigned width, class T>
__device__ auto load(const Elements<T>& view, std::size_t row, std::size_t column) {
    return load<width, std::remove_const_t<T>>(view.row(row) + column);
}

template <class T, unsigned width>
__device__ void store(T* address, const Vector<T, width>& vector) {
    *reinterpret_cast<Vector<T, width>*>(address) = vector;
}

template <class T, unsigned width>
__device__ void store(const Elements<T>& view, std::size_t row, std::size_t column,
                      const Vector<T, width>& vector) {
    store(view.row(row) + column, vector);
}

// True if every row begins where a vector may; of an absent view, too.
template <class T>
bool begins_on_vectors(const Elements<T>& view) {
    const bool is_first_row_aligned = reinterpret_cast<std::uintptr_t>(view.data) % vector_bytes == 0;
    return is_first_row_aligned && (view.rows <= 1 || view.stride * sizeof(T) % vector_bytes == 0);
}

// True if rows of so many elements of T are whole vectors in all of these views.
template <class T, class... Viewed>
bool has_vectors(std::size_t columns, const Elements<Viewed>&... views) {
    static_assert((std::is_same_v<std::remove_const_t<Viewed>, T> && ...));
    return columns % vector_width<T> == 0 && (begins_on_vectors(views) && ...);
}

// Calls `use` with the width of vectors, or with 1, as std::integral_constant.
template <class T, class Use>
void visit_width(bool has_vectors, Use&& use) {
    if (has_vectors) return use(std::integral_constant<unsigned, vector_width<T>>{});
    use(std::integral_constant<unsigned, 1>{});
}

}  // namespace trireme::gpu
