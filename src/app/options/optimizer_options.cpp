#include <utility>

#include "app/options/choices.hpp"
#include "app/options/options.hpp"
#include "app/options/values.hpp"

namespace trireme::app {
namespace {

Option of_adamw(Option option, const optim::OptimizerConfig& optimizer) {
    return needing(std::move(option), [&optimizer] { return optimizer.kind == optim::OptimizerKind::adamw; },
                   {"the optimizer adamw", "--optimizer adamw"});
}

Option momentum_option(optim::OptimizerConfig& optimizer) {
    return needing(
        number({"momentum", "", "momentum of SGD, from 0 to below 1"}, optimizer.momentum, from_until(0, 1)),
        [&optimizer] { return optimizer.kind == optim::OptimizerKind::sgd; },
        {"the optimizer sgd", "--optimizer sgd"});
}

Option min_rate_option(optim::OptimizerConfig& optimizer) {
    return needing(number({"min-lr", "", "final learning rate"}, optimizer.min_rate, at_least(0)),
                   [&optimizer] { return optimizer.schedule != optim::RateSchedule::constant; },
                   {"a learning rate that decays", "--lr-schedule linear, cosine or wsd"});
}

Option horizon_option(optim::OptimizerConfig& optimizer) {
    return needing(
        whole_number({"lr-horizon", "",
                      "number of steps over which the learning rate falls, after which it stays at --min-lr; "
                      "0: all steps of the run"},
                     optimizer.horizon),
        [&optimizer] { return optimizer.schedule != optim::RateSchedule::constant; },
        {"a learning rate that decays", "--lr-schedule linear, cosine or wsd"});
}

}  // namespace

OptionGroup optimizer_options(optim::OptimizerConfig& optimizer) {
    return {
        "optimizer",
        {
            named_choice({"optimizer", "", "update rule"}, optimizer.kind, optim::optimizers),
            number({"lr", "", "highest learning rate, reached after the warm-up"}, optimizer.rate, above(0)),
            min_rate_option(optimizer),
            choice({"lr-schedule", "", "learning rate after the warm-up"}, optimizer.schedule,
                   {{"constant", optim::RateSchedule::constant, "stays at --lr"},
                    {"linear", optim::RateSchedule::linear, "falls linearly to --min-lr"},
                    {"cosine", optim::RateSchedule::cosine, "falls along half a cosine to --min-lr"},
                    {"wsd", optim::RateSchedule::wsd,
                     "stays at --lr, and falls linearly to --min-lr in the last tenth of the steps"}}),
            horizon_option(optimizer),
            whole_number({"warmup-steps", "", "number of steps over which the learning rate rises to --lr"},
                         optimizer.warmup_steps),
            number({"weight-decay", "",
                    "weight decay of matrices and embeddings; biases and norm gains do not decay"},
                   optimizer.weight_decay, at_least(0)),
            of_adamw(number({"beta1", "", "decay rate of AdamW's first moment, from 0 to below 1"},
                            optimizer.beta1, from_until(0, 1)),
                     optimizer),
            of_adamw(number({"beta2", "", "decay rate of AdamW's second moment, from 0 to below 1"},
                            optimizer.beta2, from_until(0, 1)),
                     optimizer),
            of_adamw(number({"epsilon", "", "term added to AdamW's denominator"}, optimizer.epsilon, above(0)),
                     optimizer),
            momentum_option(optimizer),
            number({"clip", "NORM", "clip the global gradient norm to NORM; 0 disables clipping"},
                   optimizer.clip, at_least(0)),
        }};
}

}  // namespace trireme::app
