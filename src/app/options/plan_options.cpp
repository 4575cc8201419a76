#include <fmt/format.h>

#include "app/options/choices.hpp"
#include "app/options/options.hpp"
#include "app/options/values.hpp"

namespace trireme::app {
namespace {

Option make_compare_option(std::vector<std::string>& schedules) {
    return {.description =
                {"compare", "NAME,NAME,...",
                 "schedules to compare: names or files; interleaved:3 has three stages per rank; all: every "
                 "schedule that the layout allows"},
            .set = [&schedules](const Setting& setting) { schedules = split_text(setting.value, ','); },
            .get = [&schedules] { return fmt::format("{}", fmt::join(schedules, ",")); }};
}

}  // namespace

OptionGroup make_plan_options(tools::PlanConfig& config) {
    return {"plan",
            {
                make_choice_option(
                    {"format", "", "form of the plan"}, config.format,
                    {{"text", tools::PlanFormat::text, "tables to read"},
                     {"json", tools::PlanFormat::json, "layout, programs and prediction; --layout reads it"},
                     {"csv", tools::PlanFormat::csv, "the schedule, for --schedule FILE.csv"},
                     {"svg", tools::PlanFormat::svg, "a picture of the schedule"}}),
                make_text_option({"output", "FILE", "file to write; if unset, standard output"}, config.output),
                make_integer_option(
                    {"ranks", "", "number of ranks to plan for; 0: those that the grid or the layout needs"},
                    config.ranks),
                make_compare_option(config.compare),
            }};
}

}  // namespace trireme::app
