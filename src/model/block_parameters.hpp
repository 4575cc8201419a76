// What the two halves of a block share: how their parameters are named and first set, and the gradient of a
// residual branch.
#pragma once

#include <cmath>
#include <string>

#include "trireme/base/error.hpp"
#include "trireme/kernels/dropout.hpp"
#include "trireme/model/layer.hpp"

namespace trireme {

struct BlockParameters {
    std::size_t block;
    double deviation;

    ParameterSpec gain(const char* name, std::size_t size) const {
        return {.name = full(name), .columns = size, .init = Init::ones};
    }
    ParameterSpec bias(const char* name, std::size_t size) const {
        return {.name = full(name), .columns = size, .init = Init::zeros};
    }
    ParameterSpec matrix(const char* name, std::size_t rows, std::size_t columns) const {
        return {.name = full(name),
                .rows = rows,
                .columns = columns,
                .init = Init::normal,
                .deviation = deviation,
                .decays = true};
    }
    // Both halves of each of `blocks` blocks add to the residual: their last matrices start smaller, so that
    // the sum of all does not grow with depth. (Radford et al., 2019, section 2.3)
    ParameterSpec residual_matrix(const char* name, std::size_t rows, std::size_t columns,
                                  std::size_t blocks) const {
        ParameterSpec spec = matrix(name, rows, columns);
        spec.deviation /= std::sqrt(2.0 * static_cast<double>(blocks));
        return spec;
    }

private:
    std::string full(const char* name) const { return cat("transformer.h.", block, ".", name); }
};

// The gradient behind a dropout: a new tensor from `kept`, or `grad_output` itself where dropout is off.
inline ConstTensor undrop(const Pass& pass, const Dropout& dropout, ConstTensor grad_output, Arena& kept) {
    if (!dropout.is_on()) return grad_output;
    const Tensor grad = kept.tensor(pass.dtype, grad_output.rows, grad_output.columns);
    launch(pass.stream, DropoutBackward{.grad_output = grad_output, .grad_input = grad, .dropout = dropout});
    return grad;
}

}  // namespace trireme
