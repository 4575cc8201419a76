// How fast the GPU multiplies matrices with a model's weights, through the operations that a step uses.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "gpu/timing.hpp"
#include "trireme/kernels/linear.hpp"

namespace trireme::perf {

// One projection of a layer, of so many tokens.
struct Projection {
    std::string model = {};
    std::string layer = {};
    std::size_t rows = 0;
    std::size_t in = 0;
    std::size_t out = 0;
    kernels::WeightAxes axes = kernels::WeightAxes::in_out;

    // Of each of the three products: forward, and both halves of the backward pass.
    double flops() const;
};

enum class Half : std::uint8_t { forward, backward_input, backward_weight };
inline constexpr std::array halves{Half::forward, Half::backward_input, Half::backward_weight};
const char* name_of(Half half);

// In bf16, of random numbers; the weight's gradient is of f32. Calls take turns with several sets of
// operands.
Timing time_product(device::Stream& stream, const Rounds& rounds, const Projection& projection, Half half);

// The rate that others are a share of: forward products of square matrices, operations per second.
struct ProductRate {
    std::size_t side = 0;
    Timing timing = {};

    double flops_per_s() const;
};
ProductRate measure_product_rate(device::Stream& stream, const Rounds& rounds, std::size_t side);

// Those of the models that perf/gpu/check.sh trains, of so many tokens in a step.
std::vector<Projection> projections_of_models();

}  // namespace trireme::perf
