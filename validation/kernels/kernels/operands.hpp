// Tensors for one call of a kernel. The same calls on two sets of operands make the same values, whatever their
// element type and row distance, so that two backends get the same work.
#pragma once

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "trireme/base/random.hpp"
#include "trireme/device/tensor.hpp"

namespace trireme::kernels {

using device::DType;
using device::Tensor;
inline constexpr double nan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double infinity = std::numeric_limits<double>::infinity();

inline double get(const device::ConstTensor& tensor, std::size_t row, std::size_t column) {
    switch (tensor.dtype) {
        case DType::f32:
            return tensor.as<float>()(row, column);
        case DType::f64:
            return tensor.as<double>()(row, column);
        case DType::i32:
            return tensor.as<std::int32_t>()(row, column);
        case DType::i64:
            return static_cast<double>(tensor.as<std::int64_t>()(row, column));
        case DType::bf16:
            return tensor.as<device::Bf16>()(row, column);
    }
    throw BugError("unknown element type");
}

inline void set(const Tensor& tensor, std::size_t row, std::size_t column, double value) {
    switch (tensor.dtype) {
        case DType::f32:
            tensor.as<float>()(row, column) = static_cast<float>(value);
            return;
        case DType::f64:
            tensor.as<double>()(row, column) = value;
            return;
        case DType::i32:
            tensor.as<std::int32_t>()(row, column) = static_cast<std::int32_t>(value);
            return;
        case DType::i64:
            tensor.as<std::int64_t>()(row, column) = static_cast<std::int64_t>(value);
            return;
        case DType::bf16:
            tensor.as<device::Bf16>()(row, column) = static_cast<float>(value);
            return;
    }
}

// Returns all elements, row by row.
inline std::vector<double> values(const device::ConstTensor& tensor) {
    std::vector<double> all;
    for (std::size_t r = 0; r < tensor.rows; ++r) {
        for (std::size_t c = 0; c < tensor.columns; ++c) all.push_back(get(tensor, r, c));
    }
    return all;
}

class Operands {
public:
    // `gap` is the number of elements between the end of each row and the next.
    explicit Operands(DType dtype = DType::f64, std::size_t gap = 0) : dtype_(dtype), gap_(gap) {}

    DType dtype() const { return dtype_; }
    const std::vector<Tensor>& all() const { return tensors_; }

    // Makes uniformly distributed numbers in [-2, 2) that both float and double represent exactly.
    Tensor random(std::size_t rows, std::size_t columns) {
        const RandomKey key = RandomKey{2024}.then(tensors_.size());
        std::vector<double> content(rows * columns);
        for (std::size_t i = 0; i < content.size(); i += 4) {
            const RandomBlock words = random_block(key, i / 4);
            for (std::size_t j = i; j < std::min(i + 4, content.size()); ++j) {
                content[j] = static_cast<double>(words[j - i] >> 8) * 0x1p-22 - 2;
            }
        }
        return numbers(rows, columns, content);
    }
    // Makes a tensor of NaNs for results, which reveal reads and missing writes.
    Tensor unwritten(std::size_t rows, std::size_t columns) { return unwritten_of(dtype_, rows, columns); }
    Tensor unwritten_of(DType dtype, std::size_t rows, std::size_t columns) {
        return filled(dtype, rows, columns, nan);
    }
    Tensor zeros(std::size_t rows, std::size_t columns) { return filled(dtype_, rows, columns, 0); }
    Tensor numbers(std::size_t rows, std::size_t columns, const std::vector<double>& content) {
        return numbers_of(dtype_, rows, columns, content);
    }
    Tensor numbers_of(DType dtype, std::size_t rows, std::size_t columns, const std::vector<double>& content) {
        const Tensor tensor = make(dtype, rows, columns);
        for (std::size_t i = 0; i < content.size(); ++i) set(tensor, i / columns, i % columns, content[i]);
        return tensor;
    }
    Tensor i32_vector(const std::vector<double>& content) {
        return numbers_of(DType::i32, 1, content.size(), content);
    }
    // Makes a vector of whole numbers below `end`.
    Tensor indices(DType dtype, std::size_t size, std::size_t end) {
        const RandomKey key = RandomKey{2024}.then(tensors_.size());
        const Tensor tensor = make(dtype, 1, size);
        for (std::size_t i = 0; i < size; ++i) {
            set(tensor, 0, i, static_cast<double>(random_block(key, i)[0] % end));
        }
        return tensor;
    }

    // True if nothing was written into the gaps between the rows.
    bool has_clean_gaps() const {
        for (Tensor tensor : tensors_) {
            const std::size_t columns = tensor.columns;
            tensor.columns = tensor.stride;
            for (std::size_t r = 0; r < tensor.rows; ++r) {
                for (std::size_t c = columns; c < tensor.stride; ++c) {
                    if (get(tensor, r, c) != canary) return false;
                }
            }
        }
        return true;
    }

private:
    static constexpr double canary = -12288;  // representable in 16 bits

    Tensor make(DType dtype, std::size_t rows, std::size_t columns) {
        const std::size_t stride = columns + gap_;
        memory_.push_back(std::make_unique<std::byte[]>(rows * stride * byte_size(dtype)));
        const Tensor whole{memory_.back().get(), dtype, rows, stride, stride};
        for (std::size_t r = 0; r < rows; ++r) {
            for (std::size_t c = 0; c < stride; ++c) set(whole, r, c, canary);
        }
        tensors_.push_back(whole.column_range(0, columns));
        return tensors_.back();
    }
    Tensor filled(DType dtype, std::size_t rows, std::size_t columns, double value) {
        return numbers_of(dtype, rows, columns, std::vector<double>(rows * columns, value));
    }

    DType dtype_;
    std::size_t gap_;
    std::vector<std::unique_ptr<std::byte[]>> memory_;
    std::vector<Tensor> tensors_;  // in the order of the calls
};

}  // namespace trireme::kernels
