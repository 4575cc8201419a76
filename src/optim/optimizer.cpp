#include "trireme/optim/optimizer.hpp"

#include <algorithm>
#include <cmath>

#include "trireme/kernels/read.hpp"
#include "trireme/kernels/update.hpp"

namespace trireme {
namespace {

std::size_t moments_needed(const OptimizerConfig& config) {
    if (config.kind == OptimizerKind::adamw) return 2;
    return config.momentum > 0 ? 1 : 0;
}

}  // namespace

Optimizer::Optimizer(const OptimizerConfig& config, const std::vector<ParameterSpec>& specs, DType dtype,
                     Place place)
    : config_(config), specs_(specs), norm_parts_(specs.size() * bytes_of(DType::f64), place) {
    for (std::size_t m = 0; m < moments_needed(config); ++m) moments_.emplace_back(specs, dtype, place);
}

double Optimizer::gradient_norm(Stream& stream, const ParameterTensors& gradients) {
    const Tensor parts{norm_parts_.data(), DType::f64, 1, specs_.size(), specs_.size()};
    for (std::size_t i = 0; i < specs_.size(); ++i) {
        launch(stream, SumOfSquares{.input = gradients[i].flattened(), .result = parts.column_range(i, 1)});
    }
    return std::sqrt(read_sum(stream, parts));
}

void Optimizer::update(Stream& stream, const ParameterTensors& values, const ParameterTensors& gradients,
                       double rate, double gradient_scale) {
    ++steps_;
    for (std::size_t i = 0; i < specs_.size(); ++i) {
        const double weight_decay = specs_[i].decays ? config_.weight_decay : 0;
        if (config_.kind == OptimizerKind::adamw) {
            launch(stream, AdamWUpdate{.parameter = values[i],
                                       .gradient = gradients[i],
                                       .moment1 = moments_[0][i],
                                       .moment2 = moments_[1][i],
                                       .gradient_scale = gradient_scale,
                                       .rate = rate,
                                       .beta1 = config_.beta1,
                                       .beta2 = config_.beta2,
                                       .epsilon = config_.epsilon,
                                       .weight_decay = weight_decay,
                                       .step = steps_});
        } else {
            launch(stream, SgdUpdate{.parameter = values[i],
                                     .gradient = gradients[i],
                                     .velocity = moments_.empty() ? Tensor{} : moments_[0][i],
                                     .gradient_scale = gradient_scale,
                                     .rate = rate,
                                     .momentum = config_.momentum,
                                     .weight_decay = weight_decay});
        }
    }
}

std::size_t Optimizer::bytes() const {
    std::size_t sum = norm_parts_.bytes();
    for (const ParameterTensors& moments : moments_) sum += moments.bytes();
    return sum;
}

double clip_scale(double norm, double clip) {
    if (clip <= 0) return 1;
    return std::min(1.0, clip / (norm + 1e-6));
}

}  // namespace trireme
