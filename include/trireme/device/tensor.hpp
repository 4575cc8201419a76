// Views of tensors: address, type, shape and stride. A view does not own its memory; an Arena or a Buffer does.
//
// Kernels operate on matrices (rows, columns) only; a vector is a matrix with one row. A parameter of a model
// may have more axes, which are flattened to rows and columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "trireme/base/error.hpp"
#include "trireme/device/bf16.hpp"

namespace trireme::device {

// The memory of an address: host memory, GPU memory, or no memory (ghost backend, which never dereferences
// addresses).
enum class MemorySpace : std::uint8_t { host, gpu, ghost };

enum class DType : std::uint8_t { f32, f64, i32, i64, bf16 };

constexpr std::size_t byte_size(DType dtype) {
    if (dtype == DType::bf16) return 2;
    return dtype == DType::f64 || dtype == DType::i64 ? 8 : 4;
}

// Returns "f32" for DType::f32.
inline const char* to_string(DType dtype) {
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

// Returns the type in which values of type `dtype` are summed.
constexpr DType accumulator_type(DType dtype) { return dtype == DType::bf16 ? DType::f32 : dtype; }

template <class T>
constexpr DType to_dtype() {
    using ValueType = std::remove_cv_t<T>;
    static_assert(std::is_same_v<ValueType, float> || std::is_same_v<ValueType, double> ||
                  std::is_same_v<ValueType, std::int32_t> || std::is_same_v<ValueType, std::int64_t> ||
                  std::is_same_v<ValueType, Bf16>);
    if constexpr (std::is_same_v<ValueType, Bf16>) return DType::bf16;
    if constexpr (std::is_same_v<ValueType, float>) return DType::f32;
    if constexpr (std::is_same_v<ValueType, double>) return DType::f64;
    if constexpr (std::is_same_v<ValueType, std::int32_t>) return DType::i32;
    return DType::i64;
}

// A typed view of a tensor, for the code of kernels.
template <class T>
struct Elements {
    T* data = nullptr;
    std::size_t rows = 0;
    std::size_t columns = 0;
    std::size_t stride = 0;  // elements from one row to the next

    // The functions are constexpr so that GPU kernels may call them.
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
    MemorySpace memory_space = MemorySpace::host;

    std::size_t size() const { return rows * columns; }
    std::size_t bytes() const { return size() * byte_size(dtype); }
    bool is_present() const { return size() > 0; }  // an optional tensor that is absent has no elements
    bool is_contiguous() const { return stride == columns || rows <= 1; }

    BasicTensor row_range(std::size_t begin, std::size_t count) const {
        return {at(begin * stride), dtype, count, columns, stride, memory_space};
    }
    BasicTensor column_range(std::size_t begin, std::size_t count) const {
        return {at(begin), dtype, rows, count, stride, memory_space};
    }
    // Returns the elements, row by row, as one vector. The view must be contiguous.
    BasicTensor flattened() const { return {data, dtype, 1, size(), size(), memory_space}; }

    // Returns a typed view for code that accesses the memory space `reader`. Throws BugError if T is not the
    // type of the elements, or if only the tensor or only the reader is on the GPU.
    template <class T>
    auto as(MemorySpace reader = MemorySpace::host) const {
        if (dtype != to_dtype<T>()) {
            throw BugError(cat("a tensor of ", to_string(dtype), " was read as ", to_string(to_dtype<T>())));
        }
        if (is_present() && (memory_space == MemorySpace::gpu) != (reader == MemorySpace::gpu)) {
            throw BugError(reader == MemorySpace::gpu ? "a GPU kernel was given a tensor in host memory"
                                                      : "a tensor in GPU memory was read on the host");
        }
        using Element = std::conditional_t<is_const, const T, T>;
        return Elements<Element>{static_cast<Element*>(data), rows, columns, stride};
    }

    // A view that may be written can always be read.
    operator BasicTensor<true>() const requires(!is_const) {
        return {data, dtype, rows, columns, stride, memory_space};
    }

    // Returns the address `element` elements after `data`; row r begins at element r * stride.
    Address at(std::size_t element) const { return static_cast<Byte*>(data) + element * byte_size(dtype); }
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
    throw BugError(cat("a floating-point tensor was expected, got ", to_string(dtype)));
}

}  // namespace trireme::device
