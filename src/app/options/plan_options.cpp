#include <fmt/format.h>

#include "app/options/choices.hpp"
#include "app/options/options.hpp"
#include "app/options/values.hpp"

namespace trireme::app {
namespace {

Option compare_option(std::vector<std::string>& schedules) {
    return {
        .words = {"compare", "NAME,NAME,...",
                  "schedules to compare: names or files; interleaved:3 has three stages per rank; all: every "
                  "schedule that the layout allows"},
        .set = [&schedules](const Setting& setting) { schedules = parts_of(setting.value, ','); },
        .get = [&schedules] { return fmt::format("{}", fmt::join(schedules, ",")); }};
}

}  // namespace

OptionGroup plan_options(tools::PlanConfig& config) {
    return {
        "plan",
        {
            choice({"format", "", "form of the plan"}, config.format,
                   {{"text", tools::PlanFormat::text, "tables to read"},
                    {"json", tools::PlanFormat::json, "layout, programs and prediction; --layout reads it"},
                    {"csv", tools::PlanFormat::csv, "the schedule, for --schedule FILE.csv"},
                    {"svg", tools::PlanFormat::svg, "a picture of the schedule"}}),
            text({"output", "FILE", "file to write; if unset, standard output"}, config.output),
            whole_number({"ranks", "", "number of ranks to plan for with --partition pipedream"}, config.ranks),
            compare_option(config.compare),
        }};
}

}  // namespace trireme::app
