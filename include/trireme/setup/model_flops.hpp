// The FLOPs that a training step of a model needs.
#pragma once

#include <cstddef>

#include "trireme/model/model.hpp"

namespace trireme::setup {

// The amount of data in a step.
struct StepSize {
    std::size_t tokens = 0;        // without padding, over all replicas
    std::size_t targets = 0;       // terms of the loss, over all replicas
    double square_length_sum = 0;  // sum over samples of (tokens of the sample)^2
    int frozen_blocks = 0;         // see plan::Plan::frozen
    double cached_fraction = 0;    // of the forward passes of frozen layers: those that were not computed
};

// The factors of a model from which the FLOPs of its training steps follow. Training needs 6 FLOPs per token
// for each parameter of a matmul (2 forward, 4 backward), plus the FLOPs of the matmuls of attention. Frozen
// parameters need only the forward ones. A tied token table that is frozen needs 4: it still passes gradients
// on.
struct ModelFlops {
    double body_parameters = 0;       // parameters used for every token; see count_matmul_parameters()
    double head_parameters = 0;       // parameters used only for tokens with a target, to compute logits
    double embedding_parameters = 0;  // of `body_parameters`: those of the embedding
    double block_parameters = 0;      // of `body_parameters`: those of one block
    double tied_parameters = 0;       // of `head_parameters`: those of a tied token table
    double attention_factor = 0;      // blocks * width
    double width = 0;
    bool is_causal = true;

    // Returns the FLOPs of a step. `attention` is the number of FLOPs in the matmuls of attention per pair of
    // tokens of a sample, per block and per unit of width. The value 12 counts all pairs; 6 counts the half
    // that a causal model needs.
    double compute_step_flops(const StepSize& size, double attention = 12) const;
};

ModelFlops count_model_flops(const model::ModelConfig& model);

// Returns the number of parameters of a layer that count as parameters of matmuls. An EmbeddingLayer has none,
// because its tables are only looked up. For a PatchEmbedding, its matrix and bias count. For any other layer,
// all parameters count, including the few parameters of norms and biases.
std::size_t count_matmul_parameters(const model::Layer& layer, const model::ModelConfig& model);

}  // namespace trireme::setup
