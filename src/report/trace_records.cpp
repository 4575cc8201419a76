#include "report/trace_records.hpp"

#include <algorithm>

#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/schedule/check.hpp"
#include "trireme/schedule/schedule_text.hpp"

namespace trireme::report {
namespace {

using Json = nlohmann::json;

constexpr double microseconds_per_millisecond = 1000;

TracedEvent parse_event(const Json& json) {
    const Json& arguments = json.at("args");
    const double begin = json.at("ts").get<double>() / microseconds_per_millisecond;
    return {.rank = json.at("pid"),
            .lane = json.at("cat"),
            .name = json.at("name"),
            .begin = begin,
            .end = begin + json.at("dur").get<double>() / microseconds_per_millisecond,
            .step = arguments.at("step"),
            .is_instruction = arguments.contains("stage")};
}

TracedPlan parse_plan(const Json& json, const std::string& path) {
    TracedPlan plan{.first_step = json.at("step"),
                    .schedule = json.at("schedule"),
                    .teams = json.at("teams").get<std::vector<std::vector<int>>>(),
                    .programs = {},
                    .shape = {}};
    if (!json.contains("programs")) return plan;
    plan.programs = schedule::parse_phases_csv(json.at("programs").get<std::string>(), path).body;
    plan.shape = {.teams = static_cast<int>(plan.teams.size()),
                  .microbatches = json.at("microbatches"),
                  .holders = json.at("holders").get<std::vector<std::vector<int>>>(),
                  .executor = json.at("executor").get<std::vector<std::vector<int>>>(),
                  .slots = json.at("slots"),
                  .has_tied_embeddings = json.at("ties_ends")};
    const schedule::Verdict verdict = verify_programs(plan.programs, plan.shape);
    if (!verdict.is_proved()) {
        throw ConfigError(cat("the programs in ", path, " are damaged: ", verdict.fault->what,
                              "; remove the file to report the other records"));
    }
    return plan;
}

void add_event(RunTrace& trace, const Json& json) {
    const std::string kind = json.at("ph");
    if (kind == "X") trace.events.push_back(parse_event(json));
    if (kind == "C" && json.at("name") == "clock_mhz")
        trace.clocks.push_back({.rank = json.at("pid"),
                                .begin = json.at("ts").get<double>() / microseconds_per_millisecond,
                                .mhz = json.at("args").at("MHz")});
    if (kind != "M" || json.at("name") != "process_name") return;
    // Each rank has one event "process_name", which also has the number of events that the rank dropped.
    ++trace.ranks;
    trace.dropped_events += json.at("args").at("left_out").get<std::size_t>();
}

void check_ranks(const RunTrace& trace, const std::string& path) {
    const auto check = [&](int rank) {
        if (rank >= 0 && rank < trace.ranks) return;
        throw ConfigError(cat(path, " is damaged: it names rank ", rank, " but has ",
                              format_count(static_cast<std::size_t>(trace.ranks), "rank"),
                              "; remove it to report the other records"));
    };
    for (const TracedEvent& event : trace.events) check(event.rank);
    for (const TracedClock& clock : trace.clocks) check(clock.rank);
    for (const TracedPlan& plan : trace.plans) {
        for (const std::vector<int>& team : plan.teams) std::ranges::for_each(team, check);
    }
}

}  // namespace

RunTrace parse_trace(const Json& json, const std::string& path) {
    try {
        const Json& facts = json.at("otherData");
        RunTrace trace{.first_step = facts.at("first_step"),
                       .last_step = facts.at("last_step"),
                       .plans = {},
                       .events = {},
                       .clocks = {}};
        for (const Json& plan : facts.at("plans")) trace.plans.push_back(parse_plan(plan, path));
        for (const Json& event : json.at("traceEvents")) add_event(trace, event);
        check_ranks(trace, path);
        return trace;
    } catch (const Json::exception& error) {
        throw ConfigError(cat(path, " is not a trace of this program (", error.what(),
                              "); remove it to report the other records"));
    }
}

}  // namespace trireme::report
