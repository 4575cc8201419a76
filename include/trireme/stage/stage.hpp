// A run of layers on one rank: their parameters and gradients, and what micro-batches in flight have left
// behind.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "trireme/model/model.hpp"

namespace trireme {

// Bytes a stage holds while it works.
struct StageMemory {
    std::size_t parameters = 0;
    std::size_t gradients = 0;
    std::size_t activations = 0;  // of one micro-batch
    std::size_t scratch = 0;      // within one layer's backward pass
};

// What a training pass is told beside its batch.
struct PassOptions {
    RandomKey dropout_key = {};
    double loss_scale = 1;
    double label_smoothing = 0;
};

// What a micro-batch looks like, for sizing.
struct BatchShape {
    std::vector<Segment> segments;
    std::size_t rows = 0;
};

// Whether each layer's backward_input and backward_weight follow each other, or all input halves come first.
// The gradients are the same; what must be kept meanwhile is not.
enum class BackwardHalves : std::uint8_t { together, apart };

class Stage {
public:
    // `memory.activations` and `.scratch` are the capacities of the arenas; see predict().
    Stage(const ModelConfig& config, DType dtype, Place place, const StageMemory& memory);

    const std::vector<ParameterSpec>& parameters() const { return specs_; }
    const ParameterTensors& values() const { return values_; }
    const ParameterTensors& gradients() const { return gradients_; }
    DType dtype() const { return dtype_; }

    // The sum of losses over a micro-batch and what the model chose, without dropout and label smoothing;
    // gradients stay as they are.
    LossState evaluate(Stream& stream, const TokenBatch& batch);

    // Forward and backward: adds the gradients of loss_scale * the sum of losses, and gives back that sum.
    double forward_backward(Stream& stream, const TokenBatch& batch, const PassOptions& options,
                            BackwardHalves halves = BackwardHalves::together);

    // What the arenas have held at most.
    StageMemory peak() const;

private:
    struct Passage;  // one micro-batch on its way

    void forward(Passage& passage);
    void backward(Passage& passage);
    void backward_apart(Passage& passage);
    Weights weights_of(std::size_t layer) const;
    Gradients gradients_of(std::size_t layer) const;

    std::vector<Layer> layers_;
    std::vector<ParameterSpec> specs_;
    DType dtype_;
    ParameterTensors values_;
    ParameterTensors gradients_;
    std::vector<std::vector<ConstTensor>> layer_weights_;  // per layer, in the order of its parameters
    std::vector<std::vector<Tensor>> layer_gradients_;
    Arena activations_;
    Arena scratch_;
};

// Adds up what a stage will hold, by walking through a step with addresses that are counted and never followed.
StageMemory predict(const ModelConfig& config, DType dtype, const BatchShape& batch,
                    BackwardHalves halves = BackwardHalves::together);

}  // namespace trireme
