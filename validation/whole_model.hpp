// A model on one rank, one micro-batch at a time, without schedule or neighbours. Tests compare other layouts
// with it, and benchmarks time kernels in it.
#pragma once

#include <optional>
#include <utility>

#include "trireme/stage/predict.hpp"
#include "trireme/stage/stage.hpp"

namespace trireme::stage {

struct PassOptions {
    RandomKey dropout_key = {};
    double loss_scale = 1;
    double label_smoothing = 0;
};

inline StageSpec all_layers(const model::ModelConfig& config, plan::Recompute recompute,
                            std::size_t first_trained_layer = 0) {
    return {.layers = {0, build_layers(config).size()},
            .part = {},
            .recompute = recompute,
            .first_trained_layer = first_trained_layer};
}

// Predicts the capacities that a WholeModel needs.
inline StageMemory predict(const model::ModelConfig& config, device::DType dtype, const BatchShape& shape,
                           BackwardHalves halves = BackwardHalves::together,
                           plan::Recompute recompute = plan::Recompute::none) {
    return predict(config, all_layers(config, recompute), shape, {.dtype = dtype, .halves = halves});
}

class WholeModel {
public:
    // `memory` holds the capacities of its arenas. `values` is that of LocalParameters.
    WholeModel(const model::ModelConfig& config, device::DType dtype, device::MemorySpace memory_space,
               const StageMemory& memory, plan::Recompute recompute = plan::Recompute::none,
               std::size_t first_trained_layer = 0, std::optional<model::ParameterTensors> values = {})
        : dtype_(dtype),
          stage_(config, all_layers(config, recompute, first_trained_layer)),
          parameters_(stage_.parameters(), dtype, memory_space, {}, std::move(values)),
          workspace_(memory, memory_space),
          stash_(memory.activations, memory_space) {
        stage_.bind(parameters_);
    }

    const std::vector<model::ParameterSpec>& parameters() const { return parameters_.specs(); }
    LocalParameters& local_parameters() { return parameters_; }
    const model::ParameterTensors& values() const { return parameters_.values(); }
    const model::ParameterTensors& gradients() const { return parameters_.gradients(); }
    device::DType dtype() const { return dtype_; }

    // Returns the sum of losses over a micro-batch and the model's choices, without dropout and label
    // smoothing. The gradients keep their values.
    model::LossState evaluate(device::Stream& stream, const model::TokenBatch& batch) {
        if (batch.rows() == 0) return {};
        stash_.clear();
        stage_.forward({.stream = stream, .batch = batch, .scratch = workspace_.scratch, .dtype = dtype_}, {},
                       stash_, workspace_);
        return stage_.outcome(stash_);
    }

    // Adds the gradients of loss_scale * the sum of losses, and returns that sum.
    double forward_backward(device::Stream& stream, const model::TokenBatch& batch, const PassOptions& options,
                            BackwardHalves halves = BackwardHalves::together) {
        if (batch.rows() == 0) return 0;
        const model::Pass pass{.stream = stream,
                               .batch = batch,
                               .scratch = workspace_.scratch,
                               .dtype = dtype_,
                               .is_training = true,
                               .dropout_key = options.dropout_key,
                               .loss_scale = options.loss_scale,
                               .label_smoothing = options.label_smoothing};
        stash_.clear();
        stage_.forward(pass, {}, stash_, workspace_);
        if (halves == BackwardHalves::together) {
            stage_.backward(pass, {}, {}, stash_, workspace_);
        } else {
            stage_.backward_input(pass, {}, {}, stash_);
            stage_.backward_weight(pass, stash_);
        }
        return stage_.outcome(stash_).loss;
    }

    void rebalance(const model::Rebalancing& rebalancing) { stage_.rebalance(rebalancing); }  // see Stage

    // Returns the largest sizes so far.
    StageMemory peak() const {
        return {.activations = stash_.arena.peak(),
                .scratch = workspace_.scratch.peak(),
                .block_activations = workspace_.block_activations.peak(),
                .exchange = workspace_.exchange.peak()};
    }

private:
    device::DType dtype_;
    Stage stage_;
    LocalParameters parameters_;
    Workspace workspace_;
    ActivationStash stash_;
};

}  // namespace trireme::stage
