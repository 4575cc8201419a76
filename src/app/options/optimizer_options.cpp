#include <utility>

#include "app/options/choices.hpp"
#include "app/options/options.hpp"
#include "app/options/values.hpp"

namespace trireme::app {
namespace {

Option make_adamw_option(Option option, const optim::OptimizerConfig& optimizer) {
    return make_conditional(std::move(option),
                            [&optimizer] { return optimizer.kind == optim::OptimizerKind::adamw; },
                            {"the optimizer adamw", "--optimizer adamw"});
}

Option make_momentum_option(optim::OptimizerConfig& optimizer) {
    return make_conditional(make_number_option({"momentum", "", "momentum of SGD, from 0 to below 1"},
                                               optimizer.momentum, make_range_from_to_below(0, 1)),
                            [&optimizer] { return optimizer.kind == optim::OptimizerKind::sgd; },
                            {"the optimizer sgd", "--optimizer sgd"});
}

Option make_min_rate_option(optim::OptimizerConfig& optimizer) {
    return make_conditional(
        make_number_option({"min-lr", "", "final learning rate"}, optimizer.min_rate, make_range_from(0)),
        [&optimizer] { return optimizer.schedule != optim::RateSchedule::constant; },
        {"a learning rate that decays", "--lr-schedule linear, cosine or wsd,"});
}

Option make_horizon_option(optim::OptimizerConfig& optimizer) {
    return make_conditional(
        make_integer_option(
            {"lr-horizon", "",
             "number of steps over which the learning rate falls, after which it stays at --min-lr; "
             "0: all steps of the run"},
            optimizer.horizon),
        [&optimizer] { return optimizer.schedule != optim::RateSchedule::constant; },
        {"a learning rate that decays", "--lr-schedule linear, cosine or wsd,"});
}

}  // namespace

OptionGroup make_optimizer_options(optim::OptimizerConfig& optimizer) {
    return {
        "optimizer",
        {
            make_table_option({"optimizer", "", "update rule"}, optimizer.kind, optim::optimizers),
            make_number_option({"lr", "", "highest learning rate, reached after the warm-up"}, optimizer.rate,
                               make_range_above(0)),
            make_min_rate_option(optimizer),
            make_choice_option(
                {"lr-schedule", "", "learning rate after the warm-up"}, optimizer.schedule,
                {{"constant", optim::RateSchedule::constant, "stays at --lr"},
                 {"linear", optim::RateSchedule::linear, "falls linearly to --min-lr"},
                 {"cosine", optim::RateSchedule::cosine, "falls along half a cosine to --min-lr"},
                 {"wsd", optim::RateSchedule::wsd,
                  "stays at --lr, and falls linearly to --min-lr in the last tenth of the steps"}}),
            make_horizon_option(optimizer),
            make_integer_option(
                {"warmup-steps", "", "number of steps over which the learning rate rises to --lr"},
                optimizer.warmup_steps),
            make_number_option({"weight-decay", "",
                                "weight decay of matrices and embeddings; biases and norm gains do not decay"},
                               optimizer.weight_decay, make_range_from(0)),
            make_adamw_option(
                make_number_option({"beta1", "", "decay rate of AdamW's first moment, from 0 to below 1"},
                                   optimizer.beta1, make_range_from_to_below(0, 1)),
                optimizer),
            make_adamw_option(
                make_number_option({"beta2", "", "decay rate of AdamW's second moment, from 0 to below 1"},
                                   optimizer.beta2, make_range_from_to_below(0, 1)),
                optimizer),
            make_adamw_option(make_number_option({"epsilon", "", "term added to AdamW's denominator"},
                                                 optimizer.epsilon, make_range_above(0)),
                              optimizer),
            make_momentum_option(optimizer),
            make_number_option({"clip", "NORM", "clip the global gradient norm to NORM; 0 disables clipping"},
                               optimizer.clip, make_range_from(0)),
        }};
}

}  // namespace trireme::app
