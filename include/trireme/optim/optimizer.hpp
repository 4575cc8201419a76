// Updates the parameters of a rank from their gradients.
#pragma once

#include <vector>

#include "trireme/model/parameter.hpp"
#include "trireme/optim/config.hpp"

namespace trireme {

class Optimizer {
public:
    Optimizer(const OptimizerConfig& config, const std::vector<ParameterSpec>& specs, DType dtype, Place place);

    // The norm of all gradients together.
    double gradient_norm(Stream& stream, const ParameterTensors& gradients);

    // One update with gradients scaled by `gradient_scale`.
    void update(Stream& stream, const ParameterTensors& values, const ParameterTensors& gradients, double rate,
                double gradient_scale);

    std::size_t bytes() const;

private:
    OptimizerConfig config_;
    std::vector<ParameterSpec> specs_;
    std::vector<ParameterTensors> moments_;  // two for adamw, one for sgd with momentum, none without
    Buffer norm_parts_;                      // (parameters) f64
    std::size_t steps_ = 0;
};

// What gradients are multiplied with so that their norm does not exceed `clip`; 1 if clip is 0.
double clip_scale(double norm, double clip);

}  // namespace trireme
