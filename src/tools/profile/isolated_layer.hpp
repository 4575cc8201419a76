// Runs a single layer any number of times, as a stage with only this layer would. Also finds equal layers.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "trireme/comm/communicator.hpp"
#include "trireme/model/model.hpp"
#include "trireme/model/tensor_group.hpp"
#include "trireme/optim/optimizer.hpp"
#include "trireme/stage/batch_upload.hpp"
#include "trireme/stage/predict.hpp"
#include "trireme/stage/row_buffers.hpp"
#include "trireme/stage/stage.hpp"

namespace trireme::tools {

struct IsolatedLayerSpec {
    const model::ModelConfig& model;
    std::size_t layer = 0;  // index in the list of the model's layers
    const model::TokenBatch& batch;
    device::DType dtype = device::DType::f32;
    optim::OptimizerConfig optimizer = {};
    // The rank of the tensor group whose share of the layer runs. The other ranks of the group do not exist;
    // messages to and from them are done at once and carry no values.
    model::TensorPart part = {};
};

class IsolatedLayer {
public:
    // `stream` and the objects that `spec` refers to must outlive this object. Parameters, input rows and
    // gradients of rows are random.
    IsolatedLayer(const IsolatedLayerSpec& spec, device::Stream& stream);

    // A call of forward() must be followed by backward(), or by backward_input() and backward_weight().
    void forward();
    void backward();
    void backward_input();
    void backward_weight();

    // Returns the bytes of parameters, their gradients and the activation stash, without the optimizer state.
    std::size_t bytes() const;

    // Executes the rest of a step: computes the gradient norm, updates the parameters and clears the gradients.
    void update();

private:
    model::Pass pass();

    IsolatedLayerSpec spec_;
    device::Stream& stream_;
    std::optional<device::GpuUploader> uploader_;  // empty if the batch is read in place
    stage::UploadedBatch batch_;
    stage::Stage stage_;
    stage::LocalParameters parameters_;
    stage::StageMemory memory_;
    stage::Workspace workspace_;
    std::unique_ptr<comm::Communicator> communicator_;
    model::TensorGroup group_;
    stage::ActivationStash stash_;
    stage::RowBuffers rows_;
    device::Tensor input_, grad_input_;  // (rows, width); absent for the first layer
    device::Tensor grad_output_;         // (rows, width); absent for the last layer
    std::vector<optim::ParameterShard> shards_;
    optim::Optimizer optimizer_;
    device::Arena norm_scratch_;
};

// Predicts the memory of a stage with `layers` for a training pass: the spec's layer alone, or also its
// neighbours.
stage::StageMemory predict_memory(const IsolatedLayerSpec& spec, layout::Range layers,
                                  stage::BackwardHalves halves);

// Returns, per layer, the index of the first layer that has the same kind and parameters of the same shapes.
// Both layers take the same time.
std::vector<std::size_t> find_first_equals(const std::vector<model::Layer>& layers);

// Returns the indices of the layers that equal no earlier layer.
std::vector<std::size_t> find_distinct_layers(const std::vector<model::Layer>& layers);

}  // namespace trireme::tools
