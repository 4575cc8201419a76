// The FLOPs that a training step of a model needs.
#pragma once

#include <cstddef>

#include "trireme/model/model.hpp"

namespace trireme::setup {

// The amount of data in a step.
struct StepSize {
    std::size_t tokens = 0;        // without padding, over all replicas
    std::size_t targets = 0;       // terms of the loss
    double square_length_sum = 0;  // sum over samples of length * length
};

// FLOPs in training: 6 per token for each parameter of a matmul, plus the matmuls of attention.
struct ModelFlops {
    double body_parameters = 0;   // used for every token; excludes tables, which are only looked up
    double head_parameters = 0;   // used only for tokens with a target: they make the logits
    double attention_factor = 0;  // layers * width
    bool is_causal = true;

    // FLOPs of a step. attention = 12 counts the whole square of scores, 6 the half that a causal model needs.
    double of_step(const StepSize& size, double attention = 12) const;
};

ModelFlops model_flops(const model::ModelConfig& model);

// Number of parameters of a layer that are used in matmuls. Tables are only looked up, and positions are only
// added.
std::size_t multiplying_parameters(const model::Layer& layer, const model::ModelConfig& model);

}  // namespace trireme::setup
