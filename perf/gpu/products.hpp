// Measures GPU matmuls with the shapes of a model's weights, through the operations that a training step uses.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "gpu/timing.hpp"
#include "trireme/kernels/linear.hpp"

namespace trireme::perf {

// One projection of a layer, for a given number of tokens.
struct Projection {
    std::string model = {};
    std::string layer = {};
    std::size_t rows = 0;
    std::size_t in = 0;
    std::size_t out = 0;
    kernels::WeightAxes axes = kernels::WeightAxes::in_out;

    // Floating-point operations of one matmul. The forward matmul and both backward matmuls have the same
    // number.
    double flops() const;
};

enum class MatmulPass : std::uint8_t { forward, backward_input, backward_weight };
inline constexpr std::array matmul_passes{MatmulPass::forward, MatmulPass::backward_input,
                                          MatmulPass::backward_weight};
const char* to_string(MatmulPass pass);

// Times a matmul in bf16 on random numbers; the weight gradient is f32. Calls alternate between several sets of
// operands, so that they are not read from a cache.
Timing time_matmul(device::Stream& stream, const Rounds& rounds, const Projection& projection, MatmulPass pass);

// The reference rate of other figures: forward matmuls of square matrices.
struct MatmulRate {
    std::size_t side = 0;
    Timing timing = {};

    double flops_per_s() const;
};
MatmulRate measure_matmul_rate(device::Stream& stream, const Rounds& rounds, std::size_t side);

// Projections of the models that perf/gpu/check.sh trains, with the tokens of one step.
std::vector<Projection> list_model_projections();

}  // namespace trireme::perf
