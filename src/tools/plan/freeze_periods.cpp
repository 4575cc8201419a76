#include "tools/plan/freeze_periods.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "trireme/adapt/decision_forecast.hpp"
#include "trireme/adapt/freeze_forecast.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/setup/memory_prediction.hpp"
#include "trireme/setup/planning.hpp"

namespace trireme::tools {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t assumed_period_steps = 100;  // steps of an epoch whose number of samples is not known

std::size_t find_peak_bytes(const std::vector<setup::RankMemory>& memories) {
    std::size_t peak_bytes = 0;
    for (const setup::RankMemory& memory : memories) peak_bytes = std::max(peak_bytes, memory.total());
    return peak_bytes;
}

PeriodForecast summarise(std::size_t periods, const Forecast& forecast) {
    return {.periods = periods,
            .frozen = forecast.plan.frozen,
            .seconds = forecast.step.seconds,
            .peak_bytes = find_peak_bytes(forecast.memory)};
}

// Returns the forecast of a step with `frozen` frozen blocks.
Forecast forecast_step(PlanConfig config, int frozen) {
    config.run.policy.freeze = {};
    config.run.layout.frozen = frozen;
    config.run.run.steps = 1;
    config.run.data.epochs = 0;
    return make_forecast(config);
}

// Makes the options those of a run of the rule `schedule` that ends with the last period of the table.
config::RunConfig make_scheduled_run(config::RunConfig run, std::size_t periods) {
    run.policy.freeze.rule = config::FreezeRule::schedule;
    run.policy.freeze.thaws = false;
    if (!run.data.corpus.empty()) return run;
    if (run.policy.freeze.every == 0) run.policy.freeze.every = assumed_period_steps;
    run.run.steps = periods * run.policy.freeze.every;
    run.data.epochs = 0;
    return run;
}

PeriodForecast describe_period(std::size_t periods, adapt::ForecastStep step,
                               const adapt::DecisionForecast& forecast, int ranks) {
    const setup::PlanState& state = forecast.current();
    PeriodForecast period{.periods = periods,
                          .frozen = state.plan.frozen,
                          .seconds = step.predicted.seconds,
                          .peak_bytes = find_peak_bytes(predict_plan_memory(forecast.job(), state, ranks)),
                          .layout = state.plan.layout,
                          .microbatches = state.plan.microbatches(),
                          .batch = state.samples.batch};
    if (step.change) {
        period.reason = std::move(step.change->reason);
        period.moved_bytes = step.change->terms.at("moved_bytes");
    }
    return period;
}

// Forecasts the layouts of --auto-pipe, one per period.
std::vector<PeriodForecast> forecast_trajectory(const PlanConfig& config, std::size_t count, int ranks) {
    adapt::DecisionForecast forecast(setup::set_up_forecast(make_scheduled_run(config.run, count), ranks),
                                     ranks);
    std::vector<PeriodForecast> periods;
    while (periods.size() < count) {
        adapt::ForecastStep step = forecast.advance();
        periods.push_back(describe_period(periods.size(), std::move(step), forecast, ranks));
        const std::size_t next = forecast.find_next_period();
        if (next >= forecast.current().samples.count_steps()) break;
        forecast.skip_to(next);
    }
    return periods;
}

// Counts the trained layers of each stage.
std::vector<std::size_t> count_trained_layers(const PeriodForecast& period) {
    const std::size_t first_trained = plan::find_first_trained_layer(period.frozen);
    std::vector<std::size_t> counts;
    for (const layout::StageLayout& stage : period.layout.stages)
        counts.push_back(stage.layers.end() -
                         std::min(stage.layers.end(), std::max(stage.layers.begin, first_trained)));
    return counts;
}

// Counts the trained parameters of each stage.
std::vector<std::size_t> count_trained_parameters(const model::ModelConfig& model,
                                                  const PeriodForecast& period) {
    const std::vector<layout::LayerFacts> layers = setup::list_layer_facts(model);
    const std::vector<std::size_t> trained_layers = count_trained_layers(period);
    std::vector<std::size_t> counts;
    for (std::size_t stage = 0; stage < trained_layers.size(); ++stage) {
        const std::size_t end = period.layout.stages[stage].layers.end();
        std::size_t& count = counts.emplace_back(0);
        for (std::size_t layer = end - trained_layers[stage]; layer < end; ++layer)
            count += layers[layer].parameters;
    }
    return counts;
}

std::vector<std::size_t> count_replicas(const layout::Layout& layout) {
    std::vector<std::size_t> counts;
    for (const layout::StageLayout& stage : layout.stages) counts.push_back(stage.replicas.size());
    return counts;
}

bool are_equal(const std::vector<std::size_t>& counts) {
    return std::ranges::count(counts, counts.front()) == std::ssize(counts);
}

std::string format_layout(const PeriodForecast& period) {
    const std::vector<std::size_t> replicas = count_replicas(period.layout);
    return fmt::format("{} x {}", replicas.size(),
                       are_equal(replicas) ? fmt::format("{}", replicas.front())
                                           : fmt::format("({})", fmt::join(replicas, ",")));
}

}  // namespace

std::vector<PeriodForecast> forecast_periods(const PlanConfig& config, const Forecast& first, int ranks) {
    if (!config.compare.empty()) return {};
    const std::vector<int> depths =
        adapt::list_scheduled_depths(config.run, static_cast<int>(first.model.layers));
    if (may_follow_depth(config.run.policy)) return forecast_trajectory(config, depths.size(), ranks);
    std::vector<PeriodForecast> periods;
    for (const int frozen : depths) {
        const std::size_t number = periods.size();
        if (number == 0) {
            periods.push_back(summarise(number, first));
        } else if (frozen == periods.back().frozen) {
            periods.push_back(periods.back());
            periods.back().periods = number;
        } else {
            periods.push_back(summarise(number, forecast_step(config, frozen)));
        }
    }
    return periods;
}

std::string format_periods(const Forecast& forecast) {
    if (forecast.periods.empty()) return "";
    const bool follows = !forecast.periods.front().layout.stages.empty();
    std::string text = fmt::format("\n{:>7}  {:>7}  {:>12}  {:>8}  {:>12}", "periods", "frozen",
                                   fmt::format("step in {}", forecast.unit), "speed", "fullest rank");
    if (follows)
        text += fmt::format("  {:>13}  {:>13}  {:>7}  {:>8}  trained layers", "pipe x data", "micro-batches",
                            "samples", "moved");
    text += '\n';
    const PeriodForecast& first = forecast.periods.front();
    const double first_seconds = first.seconds / static_cast<double>(first.batch);  // of a sample
    for (const PeriodForecast& period : forecast.periods) {
        text += fmt::format("{:>7}  {:>7}  {:>12.6g}  {:>7.2f}x  {:>12}", period.periods,
                            fmt::format("{}/{}", period.frozen, forecast.model.layers), period.seconds,
                            first_seconds * static_cast<double>(period.batch) / period.seconds,
                            format_bytes(period.peak_bytes));
        if (follows)
            text +=
                fmt::format("  {:>13}  {:>13}  {:>7}  {:>8}  {}", format_layout(period), period.microbatches,
                            period.batch, format_bytes(static_cast<std::size_t>(period.moved_bytes)),
                            fmt::join(count_trained_layers(period), ","));
        text += '\n';
    }
    return text;
}

Json list_periods(const Forecast& forecast) {
    Json periods = Json::array();
    for (const PeriodForecast& period : forecast.periods)
        periods.push_back({{"periods", period.periods},
                           {"frozen", period.frozen},
                           {"seconds", period.seconds},
                           {"peak_bytes", period.peak_bytes}});
    return periods;
}

Json list_trajectory(const Forecast& forecast) {
    Json periods = Json::array();
    for (const PeriodForecast& period : forecast.periods) {
        const std::vector<std::size_t> replicas = count_replicas(period.layout);
        periods.push_back({{"epoch", period.periods},
                           {"frozen", period.frozen},
                           {"pipe", period.layout.stages.size()},
                           {"data", are_equal(replicas) ? Json(replicas.front()) : Json(replicas)},
                           {"layers", count_trained_layers(period)},
                           {"parameters", count_trained_parameters(forecast.model, period)},
                           {"microbatches", period.microbatches},
                           {"batch", period.batch},
                           {"seconds", period.seconds},
                           {"moved_bytes", period.moved_bytes},
                           {"peak_bytes", period.peak_bytes},
                           {"reason", period.reason}});
    }
    return periods;
}

}  // namespace trireme::tools
