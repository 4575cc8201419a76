// The FLOPs that a training step of a model needs.
#pragma once

#include <cstddef>

#include "trireme/model/model.hpp"

namespace trireme::setup {

// The amount of data in a step.
struct StepSize {
    std::size_t tokens = 0;        // without padding, over all replicas
    std::size_t targets = 0;       // terms of the loss
    double square_length_sum = 0;  // sum over samples of (tokens of the sample)^2
};

// FLOPs in training: 6 per token for each parameter of a matmul, plus the matmuls of attention.
struct ModelFlops {
    double body_parameters = 0;   // used for every token; excludes tables, which are only looked up
    double head_parameters = 0;   // used only for tokens with a target, to compute logits
    double attention_factor = 0;  // layers * width
    bool is_causal = true;

    // Returns the FLOPs of a step. The matmuls of attention cost `attention` FLOPs per pair of tokens and unit
    // of attention_factor: 12 counts all pairs, 6 the half of them that a causal model needs.
    double compute_step_flops(const StepSize& size, double attention = 12) const;
};

// Returns the factors of a model, from which the FLOPs of its steps follow.
ModelFlops count_model_flops(const model::ModelConfig& model);

// Returns the number of parameters of a layer, without tables, which are only looked up, and positions, which
// are only added. The few parameters of norms and biases count like those of matmuls.
std::size_t count_matmul_parameters(const model::Layer& layer, const model::ModelConfig& model);

}  // namespace trireme::setup
