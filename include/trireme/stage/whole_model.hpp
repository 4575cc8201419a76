// A model on one rank, one micro-batch at a time, without schedule or neighbours: what the numbers of others
// are held against, and what kernels are timed in.
#pragma once

#include "trireme/stage/predict.hpp"
#include "trireme/stage/stage.hpp"

namespace trireme::stage {

// What a training pass is told beside its batch.
struct PassOptions {
    RandomKey dropout_key = {};
    double loss_scale = 1;
    double label_smoothing = 0;
};

class WholeModel {
public:
    // `memory` are the capacities it works in; see predict().
    WholeModel(const model::ModelConfig& config, device::DType dtype, device::MemorySpace place,
               const StageMemory& memory, plan::Recompute recompute = plan::Recompute::none);

    const std::vector<model::ParameterSpec>& parameters() const { return parameters_.specs(); }
    const model::ParameterTensors& values() const { return parameters_.values(); }
    const model::ParameterTensors& gradients() const { return parameters_.gradients(); }
    device::DType dtype() const { return dtype_; }

    // The sum of losses over a micro-batch and what the model chose, without dropout and label smoothing;
    // gradients stay as they are.
    model::LossState evaluate(device::Stream& stream, const model::TokenBatch& batch);

    // Forward and backward: adds the gradients of loss_scale * the sum of losses, and gives back that sum.
    double forward_backward(device::Stream& stream, const model::TokenBatch& batch, const PassOptions& options,
                            BackwardHalves halves = BackwardHalves::together);

    void rebalance(const model::Rebalancing& rebalancing) { stage_.rebalance(rebalancing); }  // see Stage

    StageMemory peak() const;  // what has been held at most

private:
    device::DType dtype_;
    Stage stage_;
    LocalParameters parameters_;
    Workspace workspace_;
    Flight flight_;
};

// Of a WholeModel.
StageMemory predict(const model::ModelConfig& config, device::DType dtype, const BatchShape& shape,
                    BackwardHalves halves = BackwardHalves::together,
                    plan::Recompute recompute = plan::Recompute::none);

}  // namespace trireme::stage
