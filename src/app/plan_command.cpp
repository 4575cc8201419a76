#include "app/plan_command.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <ostream>

#include "trireme/base/error.hpp"
#include "trireme/report/schedule_svg.hpp"

namespace trireme::app {
namespace {

std::string shown(const Forecast& forecast, PlanFormat format) {
    switch (format) {
        case PlanFormat::text:
            return text_of(forecast);
        case PlanFormat::json:
            return json_of(forecast);
        case PlanFormat::csv:
            return csv_of(forecast);
        case PlanFormat::svg:
            return schedule_svg(forecast.prediction, title_of(forecast));
    }
    throw BugError(cat("a plan in a format without a name: ", static_cast<int>(format)));
}

}  // namespace

void show_plan(const PlanConfig& config, std::ostream& out) {
    const std::string text = shown(foresee(config), config.format);
    if (config.output.empty()) {
        out << text << std::flush;
        return;
    }
    std::ofstream file(config.output, std::ios::binary);
    if (!file) {
        throw ConfigError(cat("the plan ", config.output, " cannot be written: ", std::strerror(errno),
                              "; choose another --output"));
    }
    file << text << std::flush;
    if (!file) throw ResourceError(cat(config.output, " could not be written; is the disk full?"));
}

}  // namespace trireme::app
