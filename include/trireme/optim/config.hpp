// Configuration of the optimizer and of its learning-rate schedule.
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
    double rate = 6e-4;   // maximum learning rate
    double min_rate = 0;  // learning rate at the end of the schedule
    RateSchedule schedule = RateSchedule::cosine;
    std::size_t warmup_steps = 0;
    std::size_t horizon = 0;    // number of steps that the schedule covers; 0: all steps of the run
    double weight_decay = 0.1;  // of matrices; vectors (biases, gains) have none
    double beta1 = 0.9;
    double beta2 = 0.95;
    double epsilon = 1e-8;
    double momentum = 0.9;  // for SGD
    double clip = 1.0;      // clipping threshold of the global gradient norm; 0 disables clipping
};

// Throws ConfigError for values outside their range.
void check_optimizer(const OptimizerConfig& config);

// Returns the learning rate of step `step` (from 0). The schedule covers `horizon` steps or, if `horizon` is 0,
// `steps` steps. The rate rises linearly to `rate` during the warm-up. Then:
//   constant   rate
//   linear     linear decay, so that the first step after the schedule has min_rate
//   cosine     decay along half a cosine, so that the first step after the schedule has min_rate
//   wsd        warmup-stable-decay: rate, then linear decay over the last tenth of the schedule (at least one
//              step), so that the first step after the schedule has min_rate
// After the schedule the rate stays constant.
double compute_learning_rate(const OptimizerConfig& config, double step, std::size_t steps);

}  // namespace trireme::optim
