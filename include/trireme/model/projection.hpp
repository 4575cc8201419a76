// One or several matrices that read the same rows and write side by side: a fused "attn.c_attn", or queries,
// keys and values. A tensor rank has some of the output channels (column parallel) or some of the input
// channels (row parallel). In the latter case it computes partial sums, and only the first rank has the biases.
#pragma once

#include <string>
#include <vector>

#include "trireme/kernels/linear.hpp"
#include "trireme/model/config.hpp"
#include "trireme/model/layer.hpp"
#include "trireme/model/resizing.hpp"
#include "trireme/model/tensor_part.hpp"

namespace trireme::model {

// An activation between two projections that is fused into a matmul of one of them. Forward, the first
// projection writes `tensor`; backward, the second one reads it.
struct JoinedActivation {
    kernels::ActivationKind kind = kernels::ActivationKind::gelu_tanh;
    device::Tensor tensor = {};  // absent if no activation is fused
};

// The tensors of another rank's channels that a helper keeps from its forward pass to its backward pass.
struct GuestState {
    std::vector<device::Tensor> weights = {};  // per matrix: (channels, outputs) or (outputs, channels)
    device::Tensor input = {};                 // (rows, channels); absent unless received
    device::Tensor grad_output = {};           // (rows, all outputs); absent unless received
};
using GuestStates = std::vector<GuestState>;

class Projection {
public:
    struct Part {
        std::string name;
        Channels output;
    };

    // `deviation` is that of the matrices' initial values. `has_bias` has no effect in families without biases.
    Projection(const ModelConfig& config, Channels input, std::vector<Part> parts, double deviation,
               bool has_bias = true);
    Projection(const Projection&) = default;
    Projection& operator=(const Projection&) = default;
    virtual ~Projection() = default;
    std::vector<ParameterSpec> parameters() const;  // per part: weight, then bias if it has one

    ProjectionShape shape(const ProjectionPlace& place) const;

    // Only RebalancedProjection uses `guests` and `kept`. An activation can be fused only into a single matrix.
    virtual void forward(const Pass& pass, Weights weights, device::ConstTensor input, device::Tensor output,
                         GuestStates& guests, device::Arena& kept,
                         const JoinedActivation& activation = {}) const;
    virtual void backward_input(const Pass& pass, Weights weights, device::ConstTensor grad_output,
                                device::Tensor grad_input, GuestStates& guests, device::Arena& kept,
                                const JoinedActivation& activation = {}) const;
    virtual void backward_weight(const Pass& pass, device::ConstTensor input, device::ConstTensor grad_output,
                                 const GuestStates& guests, Gradients gradients) const;

    // Returns true if the activation can be fused into the matmul and if that is faster.
    virtual bool joins(const Pass& pass, kernels::ActivationKind activation) const;

    std::size_t output_width() const;
    kernels::WeightAxes axes() const { return axes_; }
    std::size_t parameter_count() const { return parts_.size() * (has_bias_ ? 2 : 1); }

    // Returns the matrices among the projection's weights or gradients; `all` also has the biases.
    template <class View>
    std::vector<View> matrices(std::span<const View> all) const {
        std::vector<View> some;
        for (std::size_t i = 0; i < all.size(); i += has_bias_ ? 2 : 1) some.push_back(all[i]);
        return some;
    }

protected:
    // One matrix: its number, the number of its weight among the parameters, and its range of output columns.
    struct Matrix {
        std::size_t number = 0, parameter = 0, first = 0, count = 0;
    };
    template <class Use>
    void for_each_matrix(Use&& use) const {
        Matrix matrix;
        for (const Part& part : parts_) {
            matrix.count = part.output.count();
            use(matrix);
            ++matrix.number;
            matrix.parameter += has_bias_ ? 2 : 1;
            matrix.first += matrix.count;
        }
    }
    // Return the matmuls of a matrix.
    kernels::Linear forward_matmul(const Matrix& matrix, Weights weights, device::ConstTensor input,
                                   device::Tensor output) const;
    kernels::LinearBackwardInput input_matmul(const Matrix& matrix, Weights weights,
                                              device::ConstTensor grad_output, device::Tensor grad_input) const;
    kernels::LinearBackwardWeight weight_matmul(const Matrix& matrix, device::ConstTensor input,
                                                device::ConstTensor grad_output, Gradients gradients) const;
    std::size_t input_width() const { return input_.count(); }

private:
    Channels input_;
    std::vector<Part> parts_;
    double deviation_;
    kernels::WeightAxes axes_;
    bool has_bias_;
};

}  // namespace trireme::model
