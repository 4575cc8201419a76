// How parameters are updated.
#pragma once

#include <cstddef>
#include <cstdint>

#include "trireme/base/named_values.hpp"

namespace trireme::optim {

enum class OptimizerKind : std::uint8_t { adamw, sgd };
inline constexpr NamedValue<OptimizerKind> optimizers[] = {
    {"adamw", OptimizerKind::adamw, "AdamW, with decoupled weight decay"},
    {"sgd", OptimizerKind::sgd, "SGD, with --momentum"}};

enum class RateSchedule : std::uint8_t { constant, linear, cosine, wsd };

struct OptimizerConfig {
    OptimizerKind kind = OptimizerKind::adamw;
    double rate = 6e-4;
    double min_rate = 0;
    RateSchedule schedule = RateSchedule::cosine;
    std::size_t warmup_steps = 0;
    std::size_t horizon = 0;    // steps over which the rate falls; 0: all steps of the run
    double weight_decay = 0.1;  // of matrices; vectors (biases, gains) never decay
    double beta1 = 0.9;
    double beta2 = 0.95;
    double epsilon = 1e-8;
    double momentum = 0.9;  // of sgd
    double clip = 1.0;      // of the global gradient norm; 0: never
};

// Throws ConfigError for values outside their range.
void check_optimizer(const OptimizerConfig& config);

// The rate of step `step` (from 0) of `steps`, or of `horizon` steps where that is set: the steps after it have
// the rate of its end. After the warm-up, which rises in equal parts to `rate`:
//   constant   rate
//   linear     down to min_rate in a straight line (the last step is one part above it)
//   cosine     down to min_rate in half a cosine
//   wsd        rate, then down to min_rate in a straight line over the last tenth, at least one step
double learning_rate(const OptimizerConfig& config, std::size_t step, std::size_t steps);

}  // namespace trireme::optim
