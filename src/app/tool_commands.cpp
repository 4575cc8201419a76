#include "app/tool_commands.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <ostream>

#include "trireme/base/error.hpp"
#include "trireme/config/config.hpp"
#include "trireme/rank/specimen.hpp"
#include "trireme/report/report.hpp"
#include "trireme/tools/compare.hpp"

namespace trireme::app {
namespace {

std::string shown(const tools::Forecast& forecast, tools::PlanFormat format) {
    switch (format) {
        case tools::PlanFormat::text:
            return to_string(forecast);
        case tools::PlanFormat::json:
            return json_of(forecast);
        case tools::PlanFormat::csv:
            return csv_of(forecast);
        case tools::PlanFormat::svg:
            return report::schedule_svg(forecast.timeline, title_of(forecast));
    }
    throw BugError(cat("a plan in a format without a name: ", static_cast<int>(format)));
}

// If micro-batches are in flight across steps, the picture
// shows several steps, which begin by filling the pipeline.
std::string title_of(const tools::Compared& one) {
    if (one.forecast->plan.training.look_ahead == 0) return one.name;
    return fmt::format("{}, some steps, each {:g} once the pipeline is full", one.name,
                       one.forecast->step.seconds);
}

std::string picture_of(const std::vector<tools::Compared>& schedules) {
    std::vector<report::Timeline> timelines;
    for (const tools::Compared& one : schedules) {
        if (one.forecast) timelines.push_back({title_of(one), one.forecast->timeline});
    }
    return schedules_svg(timelines);
}

std::string shown(const std::vector<tools::Compared>& schedules, tools::PlanFormat format) {
    switch (format) {
        case tools::PlanFormat::text:
            return to_string(schedules);
        case tools::PlanFormat::json:
            return json_of(schedules);
        case tools::PlanFormat::csv:
            return csv_of(schedules);
        case tools::PlanFormat::svg:
            return picture_of(schedules);
    }
    throw BugError(cat("a comparison in a format without a name: ", static_cast<int>(format)));
}

}  // namespace

ExitCode examine(const tools::DoctorConfig& config, const Surroundings& process, const comm::Session& session,
                 std::ostream& out) {
    config::RunConfig run;
    run.job = process.job;
    const tools::DoctorPlace place{.job = process.job,
                                   .start = process.start,
                                   .search_path = process.search_path,
                                   .session = session,
                                   .threads = rank::threads_of_rank(run, session)};
    return trireme::tools::examine(config, place, out);
}

void show_plan(const tools::PlanConfig& config, std::ostream& out) {
    const bool is_one = config.compare.empty();
    const std::string text =
        is_one ? shown(foresee(config), config.format) : shown(compare(config), config.format);
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

void measure(const ProfileCommand& command, const comm::Session& session, std::ostream& out) {
    const rank::Specimen specimen(rank::measured_on(command.run, session));
    profile(command.profile,
            {.model = specimen.model(),
             .batch = specimen.batch(),
             .dtype = specimen.dtype(),
             .optimizer = command.run.optimizer,
             .stream = specimen.stream()},
            session, out);
}

}  // namespace trireme::app
