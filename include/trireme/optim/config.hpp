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
    double rate = 6e-4;
    double min_rate = 0;
    RateSchedule schedule = RateSchedule::cosine;
    std::size_t warmup_steps = 0;
    std::size_t horizon = 0;    // number of steps of the schedule; 0: all steps of the run
    double weight_decay = 0.1;  // for matrices; vectors (biases, gains) never decay
    double beta1 = 0.9;
    double beta2 = 0.95;
    double epsilon = 1e-8;
    double momentum = 0.9;  // for SGD
    double clip = 1.0;      // clipping threshold of the global gradient norm; 0 disables clipping
};

// Throws ConfigError for values outside their range.
void check_optimizer(const OptimizerConfig& config);

// Returns the learning rate of step `step` (from 0) of `steps` steps. If `horizon` is set it replaces `steps`;
// later steps have the final rate. The warm-up rises linearly to `rate`. Then:
//   constant   rate
//   linear     linear decay to min_rate (the last step is one increment above it)
//   cosine     half a cosine down to min_rate
//   wsd        rate, then linear decay to min_rate over the last tenth of the steps, at least one step
double learning_rate(const OptimizerConfig& config, std::size_t step, std::size_t steps);

}  // namespace trireme::optim
