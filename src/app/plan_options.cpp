#include "app/plan_options.hpp"

#include <fmt/format.h>

#include "app/values.hpp"

namespace trireme::app {
namespace {

Option compare_option(std::vector<std::string>& schedules) {
    return {
        .words = {"compare", "NAME,NAME,...",
                  "schedules side by side: names or files, interleaved:3 for three stages on a rank; all: all "
                  "that there are"},
        .set = [&schedules](const Setting& setting) { schedules = parts_of(setting.value, ','); },
        .get = [&schedules] { return fmt::format("{}", fmt::join(schedules, ",")); }};
}

}  // namespace

OptionGroup plan_options(PlanConfig& config) {
    return {"plan",
            {
                choice({"format", "", "words, JSON, programs for --schedule, or a picture"}, config.format,
                       {{"text", PlanFormat::text},
                        {"json", PlanFormat::json},
                        {"csv", PlanFormat::csv},
                        {"svg", PlanFormat::svg}}),
                text({"output", "FILE", "where it goes; standard output if not given"}, config.output),
                whole_number({"ranks", "", "ranks that --partition pipedream shares the layers among"},
                             config.ranks),
                compare_option(config.compare),
            }};
}

}  // namespace trireme::app
