// The embedding of images. A matrix projects the pixels of each patch to a row. The row of a learned class
// token precedes the rows of each image's patches. The layer then adds a position table and applies dropout.
// Every tensor rank holds all parameters and computes all rows; forward() returns the rank's own rows.
#pragma once

#include "trireme/model/config.hpp"
#include "trireme/model/layer.hpp"
#include "trireme/model/tensor_part.hpp"

namespace trireme::model {

class PatchEmbedding {
public:
    struct State {
        // (segments * patches, channels * patch * patch): TokenBatch::pixels in the type of the pass.
        device::ConstTensor pixels;
    };

    PatchEmbedding(const ModelConfig& config, const TensorPart& part);
    std::vector<ParameterSpec> parameters() const;  // class token, positions, the matrix and its bias

    device::Tensor forward(const Pass& pass, Weights weights, device::ConstTensor input, State& state,
                           device::Arena& stash) const;
    void backward_input(const Pass& pass, Weights weights, device::ConstTensor input,
                        device::ConstTensor grad_output, device::Tensor grad_input, State& state,
                        device::Arena& stash) const;
    void backward_weight(const Pass& pass, Weights weights, device::ConstTensor input,
                         device::ConstTensor grad_output, State& state, Gradients gradients,
                         device::Arena& scratch) const;

private:
    std::string position_table_;
    ImageInput image_;
    std::size_t width_;
    double deviation_;  // standard deviation of the initial values
    double dropout_;
    bool is_first_;  // true on the first tensor rank
};

}  // namespace trireme::model
