// One or several matrices that read the same input and write adjacent output columns: a fused "attn.c_attn", or
// the matrices of queries, keys and values. A tensor rank holds some of the output channels (column parallel)
// or some of the input channels (row parallel). With row parallelism the outputs of a rank are partial sums,
// and only the first tensor rank has the biases. With column parallelism the gradients of the inputs are
// partial sums. The caller must reduce partial sums over the tensor ranks.
#pragma once

#include <string>
#include <vector>

#include "trireme/kernels/linear.hpp"
#include "trireme/model/config.hpp"
#include "trireme/model/layer.hpp"
#include "trireme/model/resizing.hpp"
#include "trireme/model/tensor_part.hpp"

namespace trireme::model {

// An activation between two projections. The activation is fused into a matmul. In the forward pass, the matmul
// of the first projection also writes the activated output, to `tensor`. In the backward pass, `tensor` is the
// input of the activation. The matmul of the second projection multiplies its result by the derivative of the
// activation at `tensor`.
struct FusedActivation {
    kernels::ActivationKind kind = kernels::ActivationKind::gelu_tanh;
    device::Tensor tensor = {};  // (rows, channels between the projections); absent if no activation is fused
};

// The tensors that a helper rank stores from forward() to backward_weight() for one HelperTask. In the shapes,
// `channels` are the offloaded input channels, and `outputs` are the owner's output channels of a matrix.
struct HelperState {
    std::vector<device::Tensor> weights = {};  // per matrix: (channels, outputs) or (outputs, channels)
    device::Tensor input = {};                 // (rows, channels); row parallel only
    device::Tensor grad_output = {};           // (rows, outputs of all matrices); column parallel only
};
using HelperStates = std::vector<HelperState>;

class Projection {
public:
    // One of the matrices.
    struct MatrixSpec {
        std::string name;  // name of the parameters, without ".weight" or ".bias"
        Channels output;   // output channels of this tensor rank
    };

    // `input` has this rank's input channels. `deviation` is the standard deviation of the initial weights.
    // `has_bias` is true if this rank holds the biases; it has no effect in families without biases.
    Projection(const ModelConfig& config, Channels input, std::vector<MatrixSpec> matrices, double deviation,
               bool has_bias = true);
    Projection(const Projection&) = default;
    Projection& operator=(const Projection&) = default;
    virtual ~Projection() = default;
    std::vector<ParameterSpec> parameters() const;  // per matrix: weight, then bias if there is one

    ProjectionShape make_shape(const ProjectionId& id) const;

    // `input` and `grad_input` are (rows, this rank's input channels), `output` and `grad_output` are (rows,
    // this rank's output channels). Weight gradients are added to `gradients`. Only RebalancedProjection uses
    // `helper_states` and `stash`. `activation` must be absent if there are several matrices.
    virtual void forward(const Pass& pass, Weights weights, device::ConstTensor input, device::Tensor output,
                         HelperStates& helper_states, device::Arena& stash,
                         const FusedActivation& activation = {}) const;
    virtual void backward_input(const Pass& pass, Weights weights, device::ConstTensor grad_output,
                                device::Tensor grad_input, HelperStates& helper_states, device::Arena& stash,
                                const FusedActivation& activation = {}) const;
    virtual void backward_weight(const Pass& pass, device::ConstTensor input, device::ConstTensor grad_output,
                                 const HelperStates& helper_states, Gradients gradients) const;

    // Returns true if the kernels can fuse the activation into a matmul and if the fused kernel is faster than
    // two kernels.
    virtual bool can_fuse(const Pass& pass, kernels::ActivationKind activation) const;

    std::size_t output_width() const;  // output channels of this rank, of all matrices
    kernels::WeightAxes axes() const { return axes_; }
    // Returns the number of parameter tensors.
    std::size_t count_parameters() const { return matrices_.size() * (has_bias_ ? 2 : 1); }

    // `all` has one tensor per parameter of the projection, either values or gradients. Returns the tensors of
    // the weights, without the tensors of the biases.
    template <class View>
    std::vector<View> select_matrices(std::span<const View> all) const {
        std::vector<View> selected;
        for (std::size_t i = 0; i < all.size(); i += has_bias_ ? 2 : 1) selected.push_back(all[i]);
        return selected;
    }

protected:
    // Position of a matrix in the projection.
    struct Matrix {
        std::size_t index = 0;         // among the matrices of the projection
        std::size_t weight_index = 0;  // among the parameters of the projection
        std::size_t first_column = 0;  // among the output columns of this rank
        std::size_t columns = 0;       // output columns of this rank
    };
    // Calls use(Matrix) for each matrix of the projection, in order.
    template <class Use>
    void for_each_matrix(Use&& use) const {
        Matrix matrix;
        for (const MatrixSpec& spec : matrices_) {
            matrix.columns = spec.output.count();
            use(matrix);
            ++matrix.index;
            matrix.weight_index += has_bias_ ? 2 : 1;
            matrix.first_column += matrix.columns;
        }
    }
    // Return the arguments of the three matmuls of a matrix.
    kernels::Linear make_forward_matmul(const Matrix& matrix, Weights weights, device::ConstTensor input,
                                        device::Tensor output) const;
    kernels::LinearBackwardInput make_backward_input_matmul(const Matrix& matrix, Weights weights,
                                                            device::ConstTensor grad_output,
                                                            device::Tensor grad_input) const;
    kernels::LinearBackwardWeight make_backward_weight_matmul(const Matrix& matrix, device::ConstTensor input,
                                                              device::ConstTensor grad_output,
                                                              Gradients gradients) const;
    std::size_t input_width() const { return input_.count(); }

private:
    Channels input_;
    std::vector<MatrixSpec> matrices_;
    double deviation_;
    kernels::WeightAxes axes_;
    bool has_bias_;
};

}  // namespace trireme::model
