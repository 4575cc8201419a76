// A layer by itself: what a stage of that layer alone does, as often as one likes; and layers that are equal.
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
    std::size_t layer = 0;  // of the model's list
    const model::TokenBatch& batch;
    device::DType dtype = device::DType::f32;
    optim::OptimizerConfig optimizer = {};
    model::TensorPart part = {};  // other than the whole: alone, and nothing comes from the others
};

class LoneLayer {
public:
    // What the spec refers to outlives it, and so does the stream. Parameters, rows and gradients of rows are
    // random.
    LoneLayer(const LoneLayerSpec& spec, device::Stream& stream);

    // A forward pass is followed by a whole backward pass, or by its two halves.
    void forward();
    void backward();
    void backward_input();
    void backward_weight();

    // Of its parameters, their gradients and what is kept of its passes; the optimizer's not counted.
    std::size_t bytes() const;

    // What a step does beside its passes: gradients are cleared, their norm is taken, parameters updated.
    void update();

private:
    model::Pass pass();

    LoneLayerSpec spec_;
    device::Stream& stream_;
    std::optional<device::ByteSender> sender_;  // none: the batch is read where it is
    stage::SentBatch batch_;
    stage::Stage stage_;
    stage::LocalParameters parameters_;
    stage::StageMemory memory_;
    stage::Workspace workspace_;
    std::unique_ptr<comm::Communicator> ranks_;
    model::TensorGroup group_;
    stage::Flight flight_;
    stage::RowBuffers rows_;
    device::Tensor input_, grad_input_;  // (rows, width); absent of the first layer
    device::Tensor grad_output_;         // (rows, width); absent of the last layer
    std::vector<optim::ParameterShard> shards_;
    optim::Optimizer optimizer_;
    device::Arena norm_scratch_;
};

// Of a training pass through the layer alone, or through some neighbours.
stage::StageMemory memory_of(const LoneLayerSpec& spec, layout::Range layers, stage::BackwardHalves halves);

// Per layer the first one that is equal to it: that does the same with other numbers.
std::vector<std::size_t> first_equals(const std::vector<model::Layer>& layers);

// The layers that are equal to none before them.
std::vector<std::size_t> distinct_layers(const std::vector<model::Layer>& layers);

}  // namespace trireme::tools
