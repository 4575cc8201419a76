// Views of tensors: address, type, shape and stride. A view owns nothing; an Arena or a Buffer owns the memory.
//
// Kernels see matrices of rows x columns only; a vector is one row. The named global tensors of a model may
// have more axes; a kernel sees them flattened.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "trireme/base/error.hpp"
#include "trireme/device/bf16.hpp"

namespace trireme::device {

// Host memory, GPU memory, or addresses of the ghost backend, which counts them and never dereferences them.
enum class MemorySpace : std::uint8_t { host, gpu, ghost };

enum class DType : std::uint8_t { f32, f64, i32, i64, bf16 };

constexpr std::size_t bytes_of(DType dtype) {
    if (dtype == DType::bf16) return 2;
    return dtype == DType::f64 || dtype == DType::i64 ? 8 : 4;
}

// Returns "f32" for DType::f32.
inline const char* name_of(DType dtype) {
    switch (dtype) {
        case DType::f32:
            return "f32";
        case DType::f64:
            return "f64";
        case DType::i32:
            return "i32";
        case DType::i64:
            return "i64";
        case DType::bf16:
            return "bf16";
    }
    throw BugError(cat("unknown element type ", static_cast<int>(dtype)));
}

// Type of the accumulator for sums over numbers of this type.
constexpr DType wide_of(DType dtype) { return dtype == DType::bf16 ? DType::f32 : dtype; }

template <class T>
constexpr DType dtype_of() {
    using Plain = std::remove_cv_t<T>;
    static_assert(std::is_same_v<Plain, float> || std::is_same_v<Plain, double> ||
                  std::is_same_v<Plain, std::int32_t> || std::is_same_v<Plain, std::int64_t> ||
                  std::is_same_v<Plain, Bf16>);
    if constexpr (std::is_same_v<Plain, Bf16>) return DType::bf16;
    if constexpr (std::is_same_v<Plain, float>) return DType::f32;
    if constexpr (std::is_same_v<Plain, double>) return DType::f64;
    if constexpr (std::is_same_v<Plain, std::int32_t>) return DType::i32;
    return DType::i64;
}

// A typed view for the inside of kernels.
template <class T>
struct Elements {
    T* data = nullptr;
    std::size_t rows = 0;
    std::size_t columns = 0;
    std::size_t stride = 0;  // elements from one row to the next

    // These are constexpr so that GPU kernels may call them.
    constexpr T* row(std::size_t r) const { return data + r * stride; }
    constexpr T& operator()(std::size_t r, std::size_t c) const { return data[r * stride + c]; }
    constexpr T& operator[](std::size_t c) const { return data[c]; }  // for vectors
};

template <bool is_const>
struct BasicTensor {
    using Address = std::conditional_t<is_const, const void*, void*>;
    using Byte = std::conditional_t<is_const, const std::byte, std::byte>;

    Address data = nullptr;
    DType dtype = DType::f32;
    std::size_t rows = 0;
    std::size_t columns = 0;
    std::size_t stride = 0;  // elements from one row to the next; >= columns
    MemorySpace place = MemorySpace::host;

    std::size_t size() const { return rows * columns; }
    std::size_t bytes() const { return size() * bytes_of(dtype); }
    bool is_present() const { return size() > 0; }  // an absent optional tensor has no elements
    bool is_contiguous() const { return stride == columns || rows <= 1; }

    BasicTensor row_range(std::size_t begin, std::size_t count) const {
        return {at(begin * stride), dtype, count, columns, stride, place};
    }
    BasicTensor column_range(std::size_t begin, std::size_t count) const {
        return {at(begin), dtype, rows, count, stride, place};
    }
    // The same elements, row by row, as one vector. The view must be contiguous.
    BasicTensor flattened() const { return {data, dtype, 1, size(), size(), place}; }

    // Returns the typed view for code that runs on `user`. Throws BugError if the type or memory space differs.
    template <class T>
    auto as(MemorySpace user = MemorySpace::host) const {
        if (dtype != dtype_of<T>()) {
            throw BugError(cat("a tensor of ", name_of(dtype), " was read as ", name_of(dtype_of<T>())));
        }
        if (is_present() && (place == MemorySpace::gpu) != (user == MemorySpace::gpu)) {
            throw BugError(user == MemorySpace::gpu ? "a kernel of the GPU was given the machine's memory"
                                                    : "the GPU's memory was read without it");
        }
        using Element = std::conditional_t<is_const, const T, T>;
        return Elements<Element>{static_cast<Element*>(data), rows, columns, stride};
    }

    // A view that may be written can always be read.
    operator BasicTensor<true>() const requires(!is_const) {
        return {data, dtype, rows, columns, stride, place};
    }

    // Address of the element with offset `element`, counted in elements.
    Address at(std::size_t element) const { return static_cast<Byte*>(data) + element * bytes_of(dtype); }
};

using Tensor = BasicTensor<false>;
using ConstTensor = BasicTensor<true>;

// Calls `use(T{})` with the floating-point type of `dtype`. Throws BugError for bf16 and integers.
template <class Use>
void visit_float(DType dtype, Use&& use) {
    switch (dtype) {
        case DType::f32:
            return use(float{});
        case DType::f64:
            return use(double{});
        case DType::i32:
        case DType::i64:
        case DType::bf16:
            break;
    }
    throw BugError(cat("a floating-point tensor was expected, got ", name_of(dtype)));
}

}  // namespace trireme::device
