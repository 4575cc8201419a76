#include "tools/plan/freeze_periods.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "trireme/adapt/freeze_forecast.hpp"
#include "trireme/base/numbers.hpp"

namespace trireme::tools {
namespace {

using Json = nlohmann::ordered_json;

PeriodForecast summarise(std::size_t periods, const Forecast& forecast) {
    std::size_t peak_bytes = 0;
    for (const setup::RankMemory& memory : forecast.memory) peak_bytes = std::max(peak_bytes, memory.total());
    return {.periods = periods,
            .frozen = forecast.plan.frozen,
            .seconds = forecast.step.seconds,
            .peak_bytes = peak_bytes};
}

// Returns the forecast of a step with `frozen` frozen blocks.
Forecast forecast_step(PlanConfig config, int frozen) {
    config.run.policy.freeze = {};
    config.run.layout.frozen = frozen;
    config.run.run.steps = 1;
    config.run.data.epochs = 0;
    return make_forecast(config);
}

}  // namespace

std::vector<PeriodForecast> forecast_periods(const PlanConfig& config, const Forecast& first) {
    if (!config.compare.empty()) return {};
    std::vector<PeriodForecast> periods;
    for (const int frozen : adapt::list_scheduled_depths(config.run, static_cast<int>(first.model.layers))) {
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
    std::string text = fmt::format("\n{:>7}  {:>7}  {:>12}  {:>8}  {}\n", "periods", "frozen",
                                   fmt::format("step in {}", forecast.unit), "speed", "fullest rank");
    for (const PeriodForecast& period : forecast.periods)
        text += fmt::format("{:>7}  {:>7}  {:>12.6g}  {:>7.2f}x  {}\n", period.periods,
                            fmt::format("{}/{}", period.frozen, forecast.model.layers), period.seconds,
                            forecast.periods.front().seconds / period.seconds, format_bytes(period.peak_bytes));
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

}  // namespace trireme::tools
