#include "trireme/optim/config.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "trireme/base/error.hpp"

namespace trireme::optim {
namespace {

void require(bool is_valid, const char* option, double value, const std::string& range) {
    if (!is_valid) throw ConfigError(cat(option, " ", value, " is outside ", range));
}

// Returns a number that decreases linearly from 1 at step `begin` to 0 at step `end`. Returns 1 if `end` is not
// later than `begin`.
double compute_linear_decay(double step, std::size_t begin, std::size_t end) {
    if (end <= begin) return 1;
    return 1 - (step - static_cast<double>(begin)) / static_cast<double>(end - begin);
}

// Returns (learning rate - min_rate) / (rate - min_rate) at `step`, a step after the warm-up.
double compute_decay(const OptimizerConfig& config, double step, std::size_t steps) {
    const std::size_t begin = std::min(config.warmup_steps, steps);
    switch (config.schedule) {
        case RateSchedule::constant:
            return 1;
        case RateSchedule::linear:
            return compute_linear_decay(step, begin, steps);
        case RateSchedule::cosine:
            return 0.5 * (1 + std::cos(std::numbers::pi * (1 - compute_linear_decay(step, begin, steps))));
        case RateSchedule::wsd: {
            const std::size_t decay_begin = std::max(begin, steps - std::max<std::size_t>(1, steps / 10));
            return step < static_cast<double>(decay_begin) ? 1 : compute_linear_decay(step, decay_begin, steps);
        }
    }
    throw BugError("unknown learning-rate schedule");
}

}  // namespace

void check_optimizer(const OptimizerConfig& config) {
    require(config.rate > 0, "--lr", config.rate, "(0, infinity)");
    const std::string rates = cat("[0, ", config.rate, "], whose upper end is --lr");
    require(config.min_rate >= 0 && config.min_rate <= config.rate, "--min-lr", config.min_rate, rates);
    require(config.weight_decay >= 0, "--weight-decay", config.weight_decay, "[0, infinity)");
    require(config.beta1 >= 0 && config.beta1 < 1, "--beta1", config.beta1, "[0, 1)");
    require(config.beta2 >= 0 && config.beta2 < 1, "--beta2", config.beta2, "[0, 1)");
    require(config.epsilon > 0, "--epsilon", config.epsilon, "(0, infinity)");
    require(config.momentum >= 0 && config.momentum < 1, "--momentum", config.momentum, "[0, 1)");
    require(config.clip >= 0, "--clip", config.clip, "[0, infinity)");
}

double compute_learning_rate(const OptimizerConfig& config, double step, std::size_t steps) {
    const auto warmup_steps = static_cast<double>(config.warmup_steps);
    if (step < warmup_steps) return config.rate * (step + 1) / warmup_steps;
    const std::size_t end = config.horizon > 0 ? config.horizon : steps;
    return config.min_rate + (config.rate - config.min_rate) *
                                 compute_decay(config, std::min(step, static_cast<double>(end)), end);
}

}  // namespace trireme::optim
