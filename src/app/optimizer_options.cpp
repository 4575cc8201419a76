#include "app/optimizer_options.hpp"

#include <utility>

#include "app/values.hpp"

namespace trireme::app {
namespace {

Option of_adamw(Option option, const OptimizerConfig& optimizer) {
    return needing(std::move(option), [&optimizer] { return optimizer.kind == OptimizerKind::adamw; },
                   {"the optimizer adamw", "--optimizer adamw"});
}

Option momentum_option(OptimizerConfig& optimizer) {
    return needing(number({"momentum", "", "of sgd, below 1"}, optimizer.momentum, from_until(0, 1)),
                   [&optimizer] { return optimizer.kind == OptimizerKind::sgd; },
                   {"the optimizer sgd", "--optimizer sgd"});
}

Option min_rate_option(OptimizerConfig& optimizer) {
    return needing(number({"min-lr", "", "the learning rate at the end"}, optimizer.min_rate, at_least(0)),
                   [&optimizer] { return optimizer.schedule != RateSchedule::constant; },
                   {"a learning rate that decays", "--lr-schedule linear, cosine or wsd"});
}

Option horizon_option(OptimizerConfig& optimizer) {
    return needing(
        whole_number({"lr-horizon", "",
                      "steps over which the rate falls, after which it stays at --min-lr; 0: all steps "
                      "of the run"},
                     optimizer.horizon),
        [&optimizer] { return optimizer.schedule != RateSchedule::constant; },
        {"a learning rate that decays", "--lr-schedule linear, cosine or wsd"});
}

}  // namespace

OptionGroup optimizer_options(OptimizerConfig& optimizer) {
    return {
        "optimizer",
        {
            choice({"optimizer", "", "how parameters are updated"}, optimizer.kind,
                   {{"adamw", OptimizerKind::adamw}, {"sgd", OptimizerKind::sgd}}),
            number({"lr", "", "the highest learning rate"}, optimizer.rate, above(0)),
            min_rate_option(optimizer),
            choice({"lr-schedule", "", "how the rate falls from one to the other"}, optimizer.schedule,
                   {{"constant", RateSchedule::constant},
                    {"linear", RateSchedule::linear},
                    {"cosine", RateSchedule::cosine},
                    {"wsd", RateSchedule::wsd}}),
            horizon_option(optimizer),
            whole_number({"warmup-steps", "", "steps over which the rate rises"}, optimizer.warmup_steps),
            number({"weight-decay", "", "of matrices; biases and gains never decay"}, optimizer.weight_decay,
                   at_least(0)),
            of_adamw(number({"beta1", "", "of adamw, below 1"}, optimizer.beta1, from_until(0, 1)), optimizer),
            of_adamw(number({"beta2", "", "of adamw, below 1"}, optimizer.beta2, from_until(0, 1)), optimizer),
            of_adamw(number({"epsilon", "", "of adamw"}, optimizer.epsilon, above(0)), optimizer),
            momentum_option(optimizer),
            number({"clip", "", "the longest gradient, by its norm; 0: never cut"}, optimizer.clip,
                   at_least(0)),
        }};
}

}  // namespace trireme::app
