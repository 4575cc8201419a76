// One or several matrices that read the same rows and write side by side: a fused "attn.c_attn", or queries,
// keys and values. A tensor rank has some of the channels that they write, or some of those that they read; in
// the latter case it makes a part of each sum, and only the first rank has the biases.
#pragma once

#include <string>
#include <vector>

#include "trireme/kernels/linear.hpp"
#include "trireme/model/config.hpp"
#include "trireme/model/layer.hpp"
#include "trireme/model/resizing.hpp"
#include "trireme/model/tensor_part.hpp"

namespace trireme {

// An activation between two projections, which one of them does along with its product: forward the first one
// writes `tensor`, backward the second one reads it.
struct JoinedActivation {
    ActivationKind kind = ActivationKind::gelu_tanh;
    Tensor tensor = {};  // absent: there is none, or it is left to others
};

class Projection {
public:
    struct Part {
        std::string name;
        Channels output;  // channels that it writes
    };

    // `deviation` is of the matrices' first values; `has_bias` is asked of families that have biases.
    Projection(const ModelConfig& config, Channels input, std::vector<Part> parts, double deviation,
               bool has_bias = true);
    std::vector<ParameterSpec> parameters() const;  // weight, and bias if the family has them, of each part

    ProjectionShape shape(const ProjectionPlace& place) const;

    // Of the input channels that are `kept`, or of all. An activation is joined to a single matrix of all of
    // them.
    void forward(const Pass& pass, Weights weights, ConstTensor input, Tensor output,
                 const KeptChannels* kept = nullptr, const JoinedActivation& activation = {}) const;
    void backward_input(const Pass& pass, Weights weights, ConstTensor grad_output, Tensor grad_input,
                        KeptChannels* kept = nullptr, const JoinedActivation& activation = {}) const;
    void backward_weight(const Pass& pass, ConstTensor input, ConstTensor grad_output, Gradients gradients,
                         KeptChannels* kept = nullptr) const;

    std::size_t output_width() const;
    WeightAxes axes() const { return axes_; }
    std::size_t parameter_count() const { return parts_.size() * (has_bias_ ? 2 : 1); }

    // Of its weights, or their gradients, the matrices.
    template <class View>
    std::vector<View> matrices(std::span<const View> all) const {
        std::vector<View> some;
        for (std::size_t i = 0; i < all.size(); i += has_bias_ ? 2 : 1) some.push_back(all[i]);
        return some;
    }

private:
    Channels input_;
    std::vector<Part> parts_;
    double deviation_;
    WeightAxes axes_;
    bool has_bias_;
};

}  // namespace trireme
