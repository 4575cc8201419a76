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

std::string format_plan(const tools::Forecast& forecast, tools::PlanFormat format) {
    switch (format) {
        case tools::PlanFormat::text:
            return to_string(forecast);
        case tools::PlanFormat::json:
            return to_json(forecast);
        case tools::PlanFormat::csv:
            return to_csv(forecast);
        case tools::PlanFormat::svg:
            return report::draw_schedule(forecast.timeline, make_title(forecast));
    }
    throw BugError(cat("unknown plan format ", static_cast<int>(format)));
}

// Returns the title of a schedule in a figure. If micro-batches are in flight across steps, the figure shows
// several steps, of which the first ones fill the pipeline.
std::string make_title(const tools::ComparedSchedule& one) {
    if (one.forecast->plan.training.look_ahead == 0) return one.name;
    return fmt::format("{}, several steps; each takes {:g} {} once the pipeline is full", one.name,
                       one.forecast->step.seconds, one.unit);
}

std::string draw_schedules(const std::vector<tools::ComparedSchedule>& schedules) {
    std::vector<report::Timeline> timelines;
    for (const tools::ComparedSchedule& one : schedules) {
        if (one.forecast) timelines.push_back({make_title(one), one.forecast->timeline});
    }
    return draw_timelines(timelines);
}

std::string format_plan(const std::vector<tools::ComparedSchedule>& schedules, tools::PlanFormat format) {
    switch (format) {
        case tools::PlanFormat::text:
            return to_string(schedules);
        case tools::PlanFormat::json:
            return to_json(schedules);
        case tools::PlanFormat::csv:
            return to_csv(schedules);
        case tools::PlanFormat::svg:
            return draw_schedules(schedules);
    }
    throw BugError(cat("unknown comparison format ", static_cast<int>(format)));
}

}  // namespace

ExitCode run_doctor(const tools::DoctorConfig& config, const EnvironmentFacts& process,
                    const comm::Session& session, std::ostream& out) {
    config::RunConfig run;  // has default options: the thread count is that of a run without --threads
    run.job = process.job;
    const tools::DoctorInputs inputs{.job = process.job,
                                     .start = process.start,
                                     .search_path = process.search_path,
                                     .session = session,
                                     .threads = rank::count_threads(run, session)};
    return trireme::tools::run_doctor(config, inputs, out);
}

void show_plan(const tools::PlanConfig& config, std::ostream& out) {
    const bool shows_one_plan = config.compare.empty();
    const std::string text = shows_one_plan ? format_plan(make_forecast(config), config.format)
                                            : format_plan(compare_schedules(config), config.format);
    if (config.output.empty()) {
        out << text << std::flush;
        return;
    }
    std::ofstream file(config.output, std::ios::binary);
    if (!file) {
        throw ConfigError(cat("the plan cannot be written to ", config.output, ": ", std::strerror(errno),
                              "; choose another --output"));
    }
    file << text << std::flush;
    if (!file) throw ResourceError(cat(config.output, " could not be written; is the disk full?"));
}

void run_profile(const ProfileCommand& command, const comm::Session& session, std::ostream& out) {
    const rank::Specimen specimen(rank::resolve_device_and_threads(command.run, session));
    profile(command.profile,
            {.model = specimen.model(),
             .batch = specimen.batch(),
             .dtype = specimen.dtype(),
             .optimizer = command.run.optimizer,
             .stream = specimen.stream()},
            session, out);
}

}  // namespace trireme::app
