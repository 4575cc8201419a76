// One or several matrices that read the same rows and write side by side: a fused "attn.c_attn", or queries,
// keys and values.
#pragma once

#include <string>
#include <vector>

#include "trireme/kernels/linear.hpp"
#include "trireme/model/config.hpp"
#include "trireme/model/layer.hpp"

namespace trireme {

class Projection {
public:
    struct Part {
        std::string name;
        std::size_t width = 0;  // channels that it writes
    };

    // `deviation` is of the matrices' first values.
    Projection(const ModelConfig& config, std::size_t input_width, std::vector<Part> parts, double deviation);
    std::vector<ParameterSpec> parameters() const;  // weight, and bias if the family has them, of each part

    void forward(const Pass& pass, Weights weights, ConstTensor input, Tensor output) const;
    void backward_input(const Pass& pass, Weights weights, ConstTensor grad_output, Tensor grad_input) const;
    void backward_weight(const Pass& pass, ConstTensor input, ConstTensor grad_output,
                         Gradients gradients) const;

    std::size_t output_width() const;
    std::size_t parameter_count() const { return parts_.size() * (has_bias_ ? 2 : 1); }

private:
    std::size_t input_width_;
    std::vector<Part> parts_;
    double deviation_;
    WeightAxes axes_;
    bool has_bias_;
};

}  // namespace trireme
