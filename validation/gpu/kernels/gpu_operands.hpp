// Operands that tests pass to the GPU kernels and to the reference.
#pragma once

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "comparison.hpp"
#include "trireme/device/buffer.hpp"
#include "trireme/device/gpu.hpp"
#include "trireme/kernels/dropout.hpp"
#include "trireme/kernels/launch.hpp"

namespace trireme {

// Operands in GPU memory, or in double for the reference with the same values. A test makes the same calls on
// both sets of operands, so that both get the same work.
class GpuOperands {
public:
    // Makes operands for the reference; numbers are rounded to `rounded_to`.
    static GpuOperands for_reference(device::DType rounded_to) {
        return {nullptr, device::DType::f64, rounded_to, 0};
    }
    // Makes operands for the GPU, with `gap` elements between rows.
    static GpuOperands of_gpu(device::Stream& stream, device::DType dtype, std::size_t gap) {
        return {&stream, dtype, dtype, gap};
    }

    device::DType dtype() const { return dtype_; }
    device::DType wide() const { return accumulator_type(dtype_); }

    // Makes random numbers in [-2, 2), the same as Operands does.
    device::Tensor random(std::size_t rows, std::size_t columns) {
        kernels::Operands made(device::DType::f64);
        for (std::size_t i = 0; i < hosts_.size(); ++i) made.zeros(1, 1);  // skips to a new random stream
        return numbers(rows, columns, kernels::values(made.random(rows, columns)));
    }
    // These make tensors that have more bits than 16-bit numbers: statistics, parameter gradients and optimizer
    // state.
    device::Tensor wide_random(std::size_t rows, std::size_t columns) {
        return with_wide_type([&] { return random(rows, columns); });
    }
    device::Tensor wide_zeros(std::size_t rows, std::size_t columns) {
        return with_wide_type([&] { return zeros(rows, columns); });
    }
    device::Tensor wide_unwritten(std::size_t rows, std::size_t columns) {
        return with_wide_type([&] { return unwritten(rows, columns); });
    }
    device::Tensor zeros(std::size_t rows, std::size_t columns) { return filled(dtype_, rows, columns, 0); }
    device::Tensor unwritten(std::size_t rows, std::size_t columns) {
        return unwritten_of(dtype_, rows, columns);
    }
    device::Tensor unwritten_of(device::DType dtype, std::size_t rows, std::size_t columns) {
        return filled(dtype, rows, columns, std::numeric_limits<double>::quiet_NaN());
    }
    device::Tensor numbers(std::size_t rows, std::size_t columns, std::vector<double> content) {
        for (double& number : content) number = rounded(number);
        return numbers_of(dtype_, rows, columns, content);
    }
    device::Tensor numbers_of(device::DType dtype, std::size_t rows, std::size_t columns,
                              const std::vector<double>& content) {
        Host& host = *hosts_.emplace_back(std::make_unique<Host>(dtype, gap_));
        host.tensor = host.operands.numbers_of(dtype, rows, columns, content);
        if (stream_ == nullptr) return host.tensor;
        host.memory = device::Buffer(host.bytes(), device::MemorySpace::gpu);
        host.on_gpu = host.tensor;
        host.on_gpu.data = host.memory.data();
        host.on_gpu.memory_space = device::MemorySpace::gpu;
        device::copy_gpu_rows(host.on_gpu.data, host.bytes(), host.tensor.data, host.bytes(), host.bytes(), 1);
        return host.on_gpu;
    }
    device::Tensor indices(device::DType dtype, std::size_t size, std::size_t end) {
        std::vector<double> content(size);
        const RandomKey key = RandomKey{2024}.then(hosts_.size());
        for (std::size_t i = 0; i < size; ++i) content[i] = static_cast<double>(random_block(key, i)[0] % end);
        return numbers_of(dtype, 1, size, content);
    }

    // Runs an operation whose results the tested operation needs.
    template <class Op>
    void run(const Op& op) {
        if (stream_ == nullptr) return kernels::run_reference(op);
        kernels::launch(*stream_, op);
    }

    // Returns the current contents of all operands, in the order in which they were made.
    std::vector<device::Tensor> results() {
        std::vector<device::Tensor> all;
        for (const auto& host : hosts_) {
            if (stream_ != nullptr)
                device::copy_gpu_rows(host->tensor.data, host->bytes(), host->on_gpu.data, host->bytes(),
                                      host->bytes(), 1);
            all.push_back(host->tensor);
        }
        return all;
    }
    bool has_clean_gaps() const {
        return std::ranges::all_of(hosts_, [](const auto& host) { return host->operands.has_clean_gaps(); });
    }

private:
    struct Host {
        Host(device::DType dtype, std::size_t gap) : operands(dtype, gap) {}
        std::size_t bytes() const { return tensor.rows * tensor.stride * byte_size(tensor.dtype); }

        kernels::Operands operands;
        device::Tensor tensor = {};
        device::Tensor on_gpu = {};
        device::Buffer memory = {};
    };

    GpuOperands(device::Stream* stream, device::DType dtype, device::DType rounded_to, std::size_t gap)
        : stream_(stream), dtype_(dtype), rounded_to_(rounded_to), gap_(gap) {}

    double rounded(double number) const {
        if (rounded_to_ != device::DType::bf16) return number;
        return static_cast<double>(device::Bf16(static_cast<float>(number)));
    }
    device::Tensor filled(device::DType dtype, std::size_t rows, std::size_t columns, double value) {
        return numbers_of(dtype, rows, columns, std::vector<double>(rows * columns, value));
    }
    template <class Make>
    device::Tensor with_wide_type(Make&& make) {
        const device::DType dtype = std::exchange(dtype_, accumulator_type(dtype_));
        const device::DType rounded_to = std::exchange(rounded_to_, accumulator_type(rounded_to_));
        const device::Tensor tensor = make();
        dtype_ = dtype;
        rounded_to_ = rounded_to;
        return tensor;
    }

    device::Stream* stream_;  // null for the reference
    device::DType dtype_, rounded_to_;
    std::size_t gap_;
    std::vector<std::unique_ptr<Host>> hosts_;
};

inline kernels::Dropout dropout_of(GpuOperands& t, std::size_t rows, double rate, std::size_t first_channel) {
    return {.rate = rate,
            .key = RandomKey{7}.then(1).then("residual"),
            .samples = t.indices(device::DType::i64, rows, 1000),
            .positions = t.indices(device::DType::i32, rows, 64),
            .first_channel = first_channel};
}

}  // namespace trireme
