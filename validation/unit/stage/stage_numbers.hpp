// Sets, reads and compares the numbers of a stage.
#pragma once

#include <cmath>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "whole_model.hpp"

namespace trireme::stage {

using NamedNumbers = std::map<std::string, std::vector<double>>;

// Returns a stage with arenas of exactly the predicted size.
inline WholeModel make_stage(const model::ModelConfig& config, device::DType dtype, const BatchShape& shape,
                             BackwardHalves halves = BackwardHalves::together) {
    return WholeModel(config, dtype, device::MemorySpace::host, predict(config, dtype, shape, halves));
}

inline std::vector<double> numbers_of(device::ConstTensor tensor) {
    std::vector<double> numbers;
    visit_float(tensor.dtype, [&]<class T>(T) {
        const auto elements = tensor.as<T>();
        for (std::size_t r = 0; r < tensor.rows; ++r) {
            numbers.insert(numbers.end(), elements.row(r), elements.row(r) + tensor.columns);
        }
    });
    return numbers;
}

// Requires a contiguous `tensor` with the same number of elements.
inline void set_numbers(device::Tensor tensor, std::span<const double> numbers) {
    visit_float(tensor.dtype, [&]<class T>(T) {
        const auto elements = tensor.flattened().as<T>();
        for (std::size_t i = 0; i < numbers.size(); ++i) elements[i] = static_cast<T>(numbers[i]);
    });
}

inline double norm_of(std::span<const double> numbers) {
    double sum = 0;
    for (const double number : numbers) sum += number * number;
    return std::sqrt(sum);
}

// Returns the largest difference; infinite if one is not a number or if the counts differ.
inline double largest_difference(std::span<const double> numbers, std::span<const double> expected) {
    if (numbers.size() != expected.size()) return std::numeric_limits<double>::infinity();
    double worst = 0;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        const double difference = std::abs(numbers[i] - expected[i]);
        if (std::isnan(difference)) return std::numeric_limits<double>::infinity();
        worst = std::max(worst, difference);
    }
    return worst;
}

// Returns the largest difference over the norm of the expected numbers, or over `floor` if that is larger.
inline double error_of(std::span<const double> numbers, std::span<const double> expected, double floor = 0) {
    return largest_difference(numbers, expected) / std::max(norm_of(expected), floor);
}

inline double norm_of(const NamedNumbers& all) {
    double sum = 0;
    for (const auto& [name, numbers] : all) sum += norm_of(numbers) * norm_of(numbers);
    return std::sqrt(sum);
}

// True if a weight adds the same to all inputs of a softmax: a key's bias to all scores of a query, or a bias
// before span logits to all rows. The gradient of such a weight is 0 up to the rounding of all others.
inline bool is_without_effect(const std::string& name, const model::ModelConfig& config) {
    if (name.ends_with("key.bias")) return true;
    if (config.task != Task::span) return false;
    return name == "qa_outputs.bias" ||
           name == cat("bert.encoder.layer.", config.layers - 1, ".output.LayerNorm.bias");
}

inline bool is_only_rounding(const NamedNumbers& gradients, const std::string& name) {
    return norm_of(gradients.at(name)) < 1e-12 * norm_of(gradients);
}

// Returns the least divisor for differences of a gradient. It is not the gradient's own size if that is small
// compared with all others.
inline double gradient_floor(const NamedNumbers& gradients, const std::string& name) {
    return (is_only_rounding(gradients, name) ? 1 : 1e-3) * norm_of(gradients);
}

inline NamedNumbers read_gradients(const WholeModel& stage) {
    NamedNumbers gradients;
    for (std::size_t i = 0; i < stage.parameters().size(); ++i) {
        gradients[stage.parameters()[i].name] = numbers_of(stage.gradients()[i]);
    }
    return gradients;
}

}  // namespace trireme::stage
