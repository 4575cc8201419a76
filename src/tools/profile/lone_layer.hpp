// Runs a layer alone, as a stage with only that layer would, any number of times; and finds equal layers.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "trireme/comm/communicator.hpp"
#include "trireme/model/model.hpp"
#include "trireme/model/tensor_group.hpp"
#include "trireme/optim/optimizer.hpp"
#include "trireme/stage/predict.hpp"
#include "trireme/stage/row_buffers.hpp"
#include "trireme/stage/sent_batch.hpp"
#include "trireme/stage/stage.hpp"

namespace trireme::tools {

struct LoneLayerSpec {
    const model::ModelConfig& model;
    std::size_t layer = 0;  // index in the list of the model's layers
    const model::TokenBatch& batch;
    device::DType dtype = device::DType::f32;
    optim::OptimizerConfig optimizer = {};
    model::TensorPart part = {};  // if a share, it runs alone and receives nothing from the other ranks
};

class LoneLayer {
public:
    // `stream` and the objects that `spec` refers to must outlive this object. Parameters, input rows and
    // gradients of rows are random.
    LoneLayer(const LoneLayerSpec& spec, device::Stream& stream);

    // A forward pass is followed by a whole backward pass, or by its two halves.
    void forward();
    void backward();
    void backward_input();
    void backward_weight();

    // Returns the bytes of parameters, their gradients and the activation stash, without the optimizer state.
    std::size_t bytes() const;

    // Does the rest of a step: takes the gradient norm, updates the parameters and clears the gradients.
    void update();

private:
    model::Pass pass();

    LoneLayerSpec spec_;
    device::Stream& stream_;
    std::optional<device::ByteSender> sender_;  // empty if the batch is read in place
    stage::SentBatch batch_;
    stage::Stage stage_;
    stage::LocalParameters parameters_;
    stage::StageMemory memory_;
    stage::Workspace workspace_;
    std::unique_ptr<comm::Communicator> ranks_;
    model::TensorGroup group_;
    stage::Flight flight_;
    stage::RowBuffers rows_;
    device::Tensor input_, grad_input_;  // (rows, width); absent for the first layer
    device::Tensor grad_output_;         // (rows, width); absent for the last layer
    std::vector<optim::ParameterShard> shards_;
    optim::Optimizer optimizer_;
    device::Arena norm_scratch_;
};

// Returns the memory of a training pass through `layers`: the layer alone, or with its neighbours.
stage::StageMemory memory_of(const LoneLayerSpec& spec, layout::Range layers, stage::BackwardHalves halves);

// Returns, per layer, the first layer that computes the same with other parameters.
std::vector<std::size_t> first_equals(const std::vector<model::Layer>& layers);

// Returns the layers that equal no earlier layer.
std::vector<std::size_t> distinct_layers(const std::vector<model::Layer>& layers);

}  // namespace trireme::tools
