#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <optional>

#include "report/html.hpp"
#include "report/page.hpp"
#include "trireme/base/error.hpp"

namespace trireme::report {
namespace {

// Returns the plan of a step; nullptr if the trace does not have it.
const TracedPlan* find_plan(const RunTrace& trace, std::size_t step) {
    const TracedPlan* found = nullptr;
    for (const TracedPlan& plan : trace.plans) {
        if (plan.first_step <= step) found = &plan;
    }
    return found;
}

// Returns, per rank, its row in the drawing. The rows are in the order of the teams of `plan`, and ranks
// without a team follow. If `plan` is null, row r is rank r.
std::vector<std::size_t> find_rows_of_ranks(const TracedPlan* plan, int ranks) {
    std::vector<int> order;
    if (plan != nullptr) {
        for (const std::vector<int>& team : plan->teams) order.insert(order.end(), team.begin(), team.end());
    }
    for (int rank = 0; rank < ranks; ++rank) {
        if (std::ranges::find(order, rank) == order.end()) order.push_back(rank);
    }
    std::vector<std::size_t> rows(order.size());
    for (std::size_t row = 0; row < order.size(); ++row) rows[static_cast<std::size_t>(order[row])] = row;
    return rows;
}

// The begin and the end of a step over all ranks, in milliseconds.
struct Window {
    double begin = std::numeric_limits<double>::infinity();
    double end = 0;
};

Window find_window(const RunTrace& trace, std::size_t step) {
    Window window;
    for (const TracedEvent& event : trace.events) {
        if (event.step != step || (event.lane != "compute" && event.lane != "steps")) continue;
        window.begin = std::min(window.begin, event.begin);
        window.end = std::max(window.end, event.end);
    }
    return window;
}

// Returns the changes of clocks per rank.
std::vector<std::vector<TracedClock>> group_clocks(const RunTrace& trace) {
    std::vector<std::vector<TracedClock>> clocks(static_cast<std::size_t>(trace.ranks));
    for (const TracedClock& clock : trace.clocks) clocks[static_cast<std::size_t>(clock.rank)].push_back(clock);
    return clocks;
}

// Returns the clock of a rank at a time; 0 if it has not changed before.
int find_clock(const std::vector<TracedClock>& clocks, double time) {
    const auto next = std::ranges::upper_bound(clocks, time, {}, &TracedClock::begin);
    return next == clocks.begin() ? 0 : std::prev(next)->mhz;
}

// Returns the kind of an event that is not an instruction; empty if the event is not drawn.
std::optional<ExtraSpanKind> find_span_kind(const TracedEvent& event) {
    if (event.lane == "compute") return ExtraSpanKind::pause;
    if (event.lane == "state on its way") return ExtraSpanKind::state;
    if (event.lane == "checkpoint") return ExtraSpanKind::checkpoint;
    const bool is_wait = event.lane == "messages" && event.name.rfind("wait", 0) == 0;
    return is_wait ? std::optional(ExtraSpanKind::wait) : std::nullopt;
}

double sum_waits_within(const std::vector<ExtraSpan>& extra_spans, double begin, double end) {
    double sum = 0;
    for (const ExtraSpan& span : extra_spans) {
        if (span.kind == ExtraSpanKind::wait) {
            sum += std::max(0.0, std::min(end, span.end) - std::max(begin, span.begin));
        }
    }
    return sum;
}

// Returns the duration of an instruction without the waits during it.
double compute_busy_time(const trireme::schedule::Span& span, const std::vector<ExtraSpan>& extra_spans) {
    return span.end - span.begin - sum_waits_within(extra_spans, span.begin, span.end);
}

struct Mean {
    double sum = 0;
    double count = 0;

    double value() const { return count > 0 ? sum / count : 0; }
};

// Means per stage and kind of instruction.
using Means = std::map<std::pair<int, schedule::Op>, Mean>;

Means compute_means(const Timeline& measured) {
    Means means;
    for (std::size_t row = 0; row < measured.prediction.spans.size(); ++row) {
        for (const trireme::schedule::Span& span : measured.prediction.spans[row]) {
            Mean& mean = means[{span.instruction.stage, span.instruction.op}];
            mean.sum += compute_busy_time(span, measured.extra_spans[row]);
            ++mean.count;
        }
    }
    return means;
}

schedule::StageCost make_mean_cost(Means& means, int stage) {
    const auto mean = [&](schedule::Op op) { return means[{stage, op}].value(); };
    const double half = mean(schedule::Op::backward) / 2;  // used if backward passes are not in two halves
    const bool has_backward_halves = means[{stage, schedule::Op::backward_input}].count > 0;
    return {.forward = mean(schedule::Op::forward),
            .backward_input = has_backward_halves ? mean(schedule::Op::backward_input) : half,
            .backward_weight = has_backward_halves ? mean(schedule::Op::backward_weight) : half,
            .step = mean(schedule::Op::step)};
}

std::string describe(const RunTrace& trace) {
    std::string text = trace.first_step == trace.last_step
                           ? cat("trace.json shows step ", trace.first_step)
                           : cat("trace.json shows steps ", trace.first_step, " to ", trace.last_step);
    text += " in full: open it in Perfetto (https://ui.perfetto.dev, \"Open trace file\").";
    if (trace.dropped_events > 0)
        text += cat(" ", format_plural(static_cast<double>(trace.dropped_events), "event"),
                    trace.dropped_events == 1 ? " is" : " are",
                    " missing, because each rank keeps a limited number of events.");
    return make_element("p", escape_html(text));
}

}  // namespace

std::size_t choose_drawn_step(const RunTrace& trace) {
    for (const char* name : {"change of plan", "copy"}) {
        for (const TracedEvent& event : trace.events) {
            // The event of a change of plan has the number of the step after the change. The event of a
            // checkpoint copy has the number of the step before the copy.
            const std::size_t step = event.name == "copy" ? event.step + 1 : event.step;
            if (event.name == name && step <= trace.last_step) return step;
        }
    }
    return trace.last_step;
}

Timeline make_measured_timeline(const RunTrace& trace, std::size_t step) {
    const std::vector<std::vector<TracedClock>> clocks = group_clocks(trace);
    const std::vector<std::size_t> rows = find_rows_of_ranks(find_plan(trace, step), trace.ranks);
    const Window window = find_window(trace, step);
    Timeline timeline{.title = cat("step ", step, " as measured, in milliseconds"), .prediction = {}};
    timeline.row_names.resize(rows.size());
    timeline.extra_spans.resize(rows.size());
    timeline.prediction.spans.resize(rows.size());
    timeline.prediction.makespan = window.end - window.begin;
    for (std::size_t rank = 0; rank < rows.size(); ++rank) timeline.row_names[rows[rank]] = cat("rank ", rank);
    for (const TracedEvent& event : trace.events) {
        const double begin = std::max(event.begin, window.begin) - window.begin;
        const double end = std::min(event.end, window.end) - window.begin;
        if (begin >= end) continue;
        const std::size_t row = rows.at(static_cast<std::size_t>(event.rank));
        if (event.is_instruction && event.lane == "compute") {
            timeline.prediction.spans[row].push_back(
                {.instruction = schedule::parse_instruction(event.name, "trace.json"),
                 .begin = begin,
                 .end = end,
                 .mhz = find_clock(clocks[static_cast<std::size_t>(event.rank)], event.begin)});
        } else if (const auto kind = find_span_kind(event)) {
            timeline.extra_spans[row].push_back({*kind, event.name, begin, end});
        }
    }
    for (std::size_t row = 0; row < rows.size(); ++row) {
        double& busy = timeline.prediction.busy_times.emplace_back();
        for (const trireme::schedule::Span& span : timeline.prediction.spans[row])
            busy += compute_busy_time(span, timeline.extra_spans[row]);
    }
    return timeline;
}

Timeline make_predicted_timeline(const TracedPlan& plan, const Timeline& measured) {
    Means means = compute_means(measured);
    std::vector<schedule::StageCost> costs;
    for (int stage = 0; stage < plan.shape.stages(); ++stage) costs.push_back(make_mean_cost(means, stage));
    Timeline timeline{
        .title = cat(plan.schedule,
                     ": predicted from the measured compute and update times, without waits, in milliseconds"),
        .prediction = predict(plan.programs, plan.shape, costs)};
    for (std::size_t team = 0; team < plan.teams.size(); ++team) {
        const std::vector<int>& ranks = plan.teams[team];
        timeline.row_names.push_back(ranks.size() == 1 ? cat("rank ", ranks.front()) : cat("team ", team));
    }
    return timeline;
}

std::string draw_trace(const RunTrace& trace) {
    if (trace.events.empty()) return "";
    const std::size_t step = choose_drawn_step(trace);
    std::vector<Timeline> timelines{make_measured_timeline(trace, step)};
    const TracedPlan* const plan = find_plan(trace, step);
    if (plan != nullptr && !plan->programs.empty())
        timelines.push_back(make_predicted_timeline(*plan, timelines.front()));
    return draw_timelines(timelines, "milliseconds") + describe(trace);
}

}  // namespace trireme::report
