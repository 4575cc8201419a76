// The arithmetic that a step of a model needs.
#pragma once

#include <cstddef>

#include "trireme/model/model.hpp"

namespace trireme::setup {

// The work of a step.
struct StepSize {
    std::size_t tokens = 0;        // rows of real samples, over all replicas
    std::size_t targets = 0;       // terms of the loss
    double square_length_sum = 0;  // of the samples
};

// Arithmetic that a model needs in training: 6 for every parameter that multiplies a row, and the products of
// attention.
struct ModelFlops {
    double body_parameters = 0;   // that every row needs; without tables that are only looked up
    double head_parameters = 0;   // that only rows with a target need: they make the logits
    double attention_factor = 0;  // layers * width
    bool is_causal = true;

    // attention = 12 counts the whole square of scores, 6 the half that a causal model needs
    double of_step(const StepSize& size, double attention = 12) const;
};

ModelFlops model_flops(const model::ModelConfig& model);

// Parameters of a layer that rows are multiplied with: tables are only looked up, and positions are only added.
std::size_t multiplying_parameters(const model::Layer& layer, const model::ModelConfig& model);

}  // namespace trireme::setup
