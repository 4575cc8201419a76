// Fixture of an optimizer on both CPU backends and in both precisions.
#pragma once

#include <gtest/gtest.h>

#include <cmath>

#include "trireme/optim/optimizer.hpp"

namespace trireme::optim {

using device::DType;
using device::MemorySpace;
using Numbers = std::vector<double>;

inline const std::vector<model::ParameterSpec> matrix_and_vector{
    {.name = "matrix", .rows = 2, .columns = 2, .has_weight_decay = true},
    {.name = "vector", .rows = 1, .columns = 2, .has_weight_decay = false}};

inline void fill(const device::Tensor& tensor, const Numbers& numbers) {
    visit_float(tensor.dtype, [&](auto zero) {
        const auto elements = tensor.as<decltype(zero)>();
        for (std::size_t i = 0; i < numbers.size(); ++i)
            elements.data[i] = static_cast<decltype(zero)>(numbers[i]);
    });
}

inline Numbers numbers_of(const device::Tensor& tensor) {
    Numbers numbers(tensor.size());
    visit_float(tensor.dtype, [&](auto zero) {
        const auto elements = tensor.as<decltype(zero)>();
        for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = elements.data[i];
    });
    return numbers;
}

enum class Backend : std::uint8_t { reference, cpu };

inline device::Stream stream_on(Backend backend) {
    if (backend == Backend::reference) return {device::ReferenceStream{}};
    return {device::CpuStream{.threads = 2}};
}

struct Machine {
    Backend backend;
    DType dtype;
};

// Has a matrix with weight decay and a vector without. start() sets all elements of both to the same number.
class OptimizerBackend : public ::testing::TestWithParam<Machine> {
protected:
    void start(double value, double gradient) {
        for (const std::size_t i : {0U, 1U}) {
            fill(values_[i], Numbers(values_[i].size(), value));
            fill(gradients_[i], Numbers(gradients_[i].size(), gradient));
        }
    }

    Optimizer optimizer_of(const OptimizerConfig& config) const {
        return {config, matrix_and_vector, make_whole_shards(matrix_and_vector), GetParam().dtype,
                MemorySpace::host};
    }

    double sum_squares(const std::vector<ParameterShard>& shards) {
        return compute_sum_of_squares(stream_, gradients_, shards, scratch_);
    }

    // Return the number that all elements of a parameter have.
    double matrix() const { return read_number(values_[0]); }
    double vector() const { return read_number(values_[1]); }
    double rounding() const { return GetParam().dtype == DType::f32 ? 1e-6 : 1e-14; }

    device::Stream stream_ = stream_on(GetParam().backend);
    model::ParameterTensors values_{matrix_and_vector, GetParam().dtype, MemorySpace::host};
    model::ParameterTensors gradients_{matrix_and_vector, GetParam().dtype, MemorySpace::host};

private:
    device::Arena scratch_{"scratch", 4096, MemorySpace::host};
    static double read_number(const device::Tensor& tensor) {
        const Numbers numbers = numbers_of(tensor);
        for (const double number : numbers) EXPECT_EQ(number, numbers.front());
        return numbers.front();
    }
};

inline std::vector<Machine> every_machine() {
    return {{Backend::reference, DType::f32},
            {Backend::reference, DType::f64},
            {Backend::cpu, DType::f32},
            {Backend::cpu, DType::f64}};
}

inline std::string name_of_machine(const ::testing::TestParamInfo<Machine>& tested) {
    const Machine& m = tested.param;
    return std::string(m.backend == Backend::cpu ? "cpu_" : "reference_") + to_string(m.dtype);
}

// A 37 x 1013 matrix and a vector, which by_rows() and by_columns() shard.
inline const std::vector<model::ParameterSpec> uneven{
    {.name = "matrix", .rows = 37, .columns = 1013, .has_weight_decay = true},
    {.name = "vector", .rows = 1, .columns = 259, .has_weight_decay = false}};

inline std::vector<ParameterShard> by_rows() {
    return {{1, {{0, 1}, {0, 259}}},
            {0, {{0, 1}, {0, 1013}}},
            {0, {{1, 19}, {0, 1013}}},
            {0, {{20, 17}, {0, 1013}}}};
}

inline std::vector<ParameterShard> by_columns() {
    return {{0, {{0, 37}, {0, 3}}},
            {0, {{0, 37}, {3, 1000}}},
            {0, {{0, 37}, {1003, 10}}},
            {1, {{0, 1}, {100, 159}}},
            {1, {{0, 1}, {0, 100}}}};
}

enum class Mistakes : std::uint8_t { none, rolled_back };

// Returns the values after three updates of `shards`. Each call starts from the same values and gradients. With
// Mistakes::rolled_back, a wrong second update is made first and rolled back.
inline std::vector<Numbers> updated(const OptimizerConfig& config, const Machine& machine,
                                    const std::vector<ParameterShard>& shards,
                                    Mistakes mistakes = Mistakes::none,
                                    const SkippedChannelMap* skipped = nullptr) {
    device::Stream stream = stream_on(machine.backend);
    const model::ParameterTensors values(uneven, machine.dtype, MemorySpace::host);
    const model::ParameterTensors gradients(uneven, machine.dtype, MemorySpace::host);
    Optimizer optimizer(config, uneven, shards, machine.dtype, MemorySpace::host, mistakes != Mistakes::none);
    for (std::size_t i = 0; i < uneven.size(); ++i) {
        Numbers value(uneven[i].size()), gradient(uneven[i].size());
        for (std::size_t e = 0; e < value.size(); ++e) {
            value[e] = std::sin(static_cast<double>(e));
            gradient[e] = std::cos(3 * static_cast<double>(e));
        }
        fill(values[i], value);
        fill(gradients[i], gradient);
    }
    for (const double rate : {0.1, 0.01, 0.3}) {
        if (rate == 0.01 && mistakes == Mistakes::rolled_back) {
            optimizer.save_backup(stream, values);
            optimizer.update(stream, values, gradients, rate, 1);
            optimizer.restore_backup(stream, values);
        }
        optimizer.update(stream, values, gradients, rate, 0.7, skipped);
    }
    return {numbers_of(values[0]), numbers_of(values[1])};
}

}  // namespace trireme::optim
