// What tests of the GPU's kernels give to them, and to the reference.
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

// Operands in the GPU's memory, or the reference's in double with the values that these have. What a test makes
// of one set of operands it makes of the other, so that both get the same work.
class GpuOperands {
public:
    // Of the reference; numbers are those that `rounded_to` has.
    static GpuOperands of_reference(DType rounded_to) { return {nullptr, DType::f64, rounded_to, 0}; }
    // Of the GPU, rows `gap` elements apart.
    static GpuOperands of_gpu(Stream& stream, DType dtype, std::size_t gap) {
        return {&stream, dtype, dtype, gap};
    }

    DType dtype() const { return dtype_; }
    DType wide() const { return wide_of(dtype_); }

    // Random numbers in [-2, 2), as Operands makes them.
    Tensor random(std::size_t rows, std::size_t columns) {
        Operands made(DType::f64);
        for (std::size_t i = 0; i < hosts_.size(); ++i) made.zeros(1, 1);  // the next stream of random numbers
        return numbers(rows, columns, values(made.random(rows, columns)));
    }
    // What is kept in more bits where numbers have 16: statistics, gradients of parameters, what an optimizer
    // holds.
    Tensor wide_random(std::size_t rows, std::size_t columns) {
        return widely([&] { return random(rows, columns); });
    }
    Tensor wide_zeros(std::size_t rows, std::size_t columns) {
        return widely([&] { return zeros(rows, columns); });
    }
    Tensor wide_unwritten(std::size_t rows, std::size_t columns) {
        return widely([&] { return unwritten(rows, columns); });
    }
    Tensor zeros(std::size_t rows, std::size_t columns) { return filled(dtype_, rows, columns, 0); }
    Tensor unwritten(std::size_t rows, std::size_t columns) { return unwritten_of(dtype_, rows, columns); }
    Tensor unwritten_of(DType dtype, std::size_t rows, std::size_t columns) {
        return filled(dtype, rows, columns, std::numeric_limits<double>::quiet_NaN());
    }
    Tensor numbers(std::size_t rows, std::size_t columns, std::vector<double> content) {
        for (double& number : content) number = rounded(number);
        return numbers_of(dtype_, rows, columns, content);
    }
    Tensor numbers_of(DType dtype, std::size_t rows, std::size_t columns, const std::vector<double>& content) {
        Host& host = *hosts_.emplace_back(std::make_unique<Host>(dtype, gap_));
        host.tensor = host.operands.numbers_of(dtype, rows, columns, content);
        if (stream_ == nullptr) return host.tensor;
        host.memory = Buffer(host.bytes(), Place::gpu);
        host.on_gpu = host.tensor;
        host.on_gpu.data = host.memory.data();
        host.on_gpu.place = Place::gpu;
        copy_gpu_rows(host.on_gpu.data, host.bytes(), host.tensor.data, host.bytes(), host.bytes(), 1);
        return host.on_gpu;
    }
    Tensor indices(DType dtype, std::size_t size, std::size_t end) {
        std::vector<double> content(size);
        const RandomKey key = RandomKey{2024}.then(hosts_.size());
        for (std::size_t i = 0; i < size; ++i) content[i] = static_cast<double>(random_block(key, i)[0] % end);
        return numbers_of(dtype, 1, size, content);
    }

    // An operation before the one that is tested, which needs its results.
    template <class Op>
    void run(const Op& op) {
        if (stream_ == nullptr) return run_reference(op);
        launch(*stream_, op);
    }

    // What has become of them, in the order in which they were made.
    std::vector<Tensor> results() {
        std::vector<Tensor> all;
        for (const auto& host : hosts_) {
            if (stream_ != nullptr)
                copy_gpu_rows(host->tensor.data, host->bytes(), host->on_gpu.data, host->bytes(), host->bytes(),
                              1);
            all.push_back(host->tensor);
        }
        return all;
    }
    bool has_clean_gaps() const {
        return std::ranges::all_of(hosts_, [](const auto& host) { return host->operands.has_clean_gaps(); });
    }

private:
    struct Host {
        Host(DType dtype, std::size_t gap) : operands(dtype, gap) {}
        std::size_t bytes() const { return tensor.rows * tensor.stride * bytes_of(tensor.dtype); }

        Operands operands;
        Tensor tensor = {};
        Tensor on_gpu = {};
        Buffer memory = {};
    };

    GpuOperands(Stream* stream, DType dtype, DType rounded_to, std::size_t gap)
        : stream_(stream), dtype_(dtype), rounded_to_(rounded_to), gap_(gap) {}

    double rounded(double number) const {
        if (rounded_to_ != DType::bf16) return number;
        return static_cast<double>(Bf16(static_cast<float>(number)));
    }
    Tensor filled(DType dtype, std::size_t rows, std::size_t columns, double value) {
        return numbers_of(dtype, rows, columns, std::vector<double>(rows * columns, value));
    }
    template <class Make>
    Tensor widely(Make&& make) {
        const DType dtype = std::exchange(dtype_, wide_of(dtype_));
        const DType rounded_to = std::exchange(rounded_to_, wide_of(rounded_to_));
        const Tensor tensor = make();
        dtype_ = dtype;
        rounded_to_ = rounded_to;
        return tensor;
    }

    Stream* stream_;  // none: the reference
    DType dtype_, rounded_to_;
    std::size_t gap_;
    std::vector<std::unique_ptr<Host>> hosts_;
};

inline Dropout dropout_of(GpuOperands& t, std::size_t rows, double rate, std::size_t first_channel) {
    return {.rate = rate,
            .key = RandomKey{7}.then(1).then("residual"),
            .samples = t.indices(DType::i64, rows, 1000),
            .positions = t.indices(DType::i32, rows, 64),
            .first_channel = first_channel};
}

}  // namespace trireme
