// Getting numbers into a stage and out of it, and comparing them.
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

// A stage with arenas of exactly the predicted size.
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

// `tensor` is contiguous and has as many elements.
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

// The largest difference; infinite if one is not a number or if there are not as many of them.
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

// The largest difference over the norm of what was expected, or over `floor` where that is larger.
inline double error_of(std::span<const double> numbers, std::span<const double> expected, double floor = 0) {
    return largest_difference(numbers, expected) / std::max(norm_of(expected), floor);
}

inline double norm_of(const NamedNumbers& all) {
    double sum = 0;
    for (const auto& [name, numbers] : all) sum += norm_of(numbers) * norm_of(numbers);
    return std::sqrt(sum);
}

// No softmax sees what adds the same to all that it compares: a key's bias, to all scores of a query; a bias
// before span logits, to all rows. The gradients of those weights are 0 but for the rounding of all the others.
inline bool is_without_effect(const std::string& name, const model::ModelConfig& config) {
    if (name.ends_with("key.bias")) return true;
    if (config.task != Task::span) return false;
    return name == "qa_outputs.bias" ||
           name == cat("bert.encoder.layer.", config.layers - 1, ".output.LayerNorm.bias");
}

inline bool is_only_rounding(const NamedNumbers& gradients, const std::string& name) {
    return norm_of(gradients.at(name)) < 1e-12 * norm_of(gradients);
}

// The least that differences of a gradient are divided by: not its own size where that is small beside all
// others.
inline double gradient_floor(const NamedNumbers& gradients, const std::string& name) {
    return (is_only_rounding(gradients, name) ? 1 : 1e-3) * norm_of(gradients);
}

inline NamedNumbers gradients_of(const WholeModel& stage) {
    NamedNumbers gradients;
    for (std::size_t i = 0; i < stage.parameters().size(); ++i) {
        gradients[stage.parameters()[i].name] = numbers_of(stage.gradients()[i]);
    }
    return gradients;
}

}  // namespace trireme::stage
