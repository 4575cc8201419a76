// Runs a stage that consists of a single layer, any number of times. Finds the layers of a model that have
// equal costs.
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
#include "trireme/stage/stage.hpp"

namespace trireme::tools {

struct IsolatedLayerSpec {
    const model::ModelConfig& model;
    std::size_t layer = 0;  // index in build_layers(model)
    const model::TokenBatch& batch;
    device::DType dtype = device::DType::f32;
    optim::OptimizerConfig optimizer = {};
    // A rank of a tensor group, and the shares of the group. Only this rank's share of the layer runs. The
    // other ranks do not exist; messages to and from them end immediately and carry no values.
    model::TensorPart part = {};
};

class IsolatedLayer {
public:
    // `stream` and the objects that `spec` refers to must outlive this object. The parameters get their
    // initial values. The input rows and the gradients of the output rows are random.
    IsolatedLayer(const IsolatedLayerSpec& spec, device::Stream& stream);

    // These calls launch the kernels of a pass. forward() must be followed by backward(), or by
    // backward_input() and then backward_weight().
    void forward();
    void backward();
    void backward_input();
    void backward_weight();

    // Returns the bytes of the parameters, their gradients and the activation stash. Counts each
    // parameter with the size of its gradient. With bf16, the gradient is larger than the parameter.
    std::size_t bytes() const;

    // Launches the kernels at the end of a step: computes the gradient norm, updates the parameters and clears
    // the gradients.
    void update();

private:
    model::Pass make_pass();

    IsolatedLayerSpec spec_;
    device::Stream& stream_;
    std::optional<device::GpuUploader> uploader_;  // empty without a GPU: kernels then read spec_.batch
    stage::UploadedBatch batch_;
    stage::Stage stage_;
    stage::LocalParameters parameters_;
    stage::StageMemory memory_;
    stage::Workspace workspace_;
    std::unique_ptr<comm::Communicator> communicator_;
    model::TensorGroup group_;
    stage::ActivationStash stash_;
    device::Arena rows_;
    device::Tensor input_, grad_input_;  // (rows, width); absent for the first layer
    device::Tensor grad_output_;         // (rows, width); absent for the last layer
    std::vector<optim::ParameterShard> shards_;
    optim::Optimizer optimizer_;
    device::Arena norm_scratch_;
};

// Predicts the memory of a stage that consists of `layers` and runs the micro-batch of `spec`. Ignores
// spec.layer.
stage::StageMemory predict_memory(const IsolatedLayerSpec& spec, layout::Range layers,
                                  stage::BackwardHalves halves);

// Returns, per layer, the index of the first layer of the same kind whose parameters have the same shapes. Such
// layers have equal costs. A layer that equals no earlier layer gets its own index.
std::vector<std::size_t> find_first_equals(const std::vector<model::Layer>& layers);

// Returns the indices of the layers that equal no earlier layer, in ascending order.
std::vector<std::size_t> find_distinct_layers(const std::vector<model::Layer>& layers);

}  // namespace trireme::tools
