#include <algorithm>
#include <limits>
#include <map>
#include <optional>

#include "report/html.hpp"
#include "report/page.hpp"
#include "trireme/base/error.hpp"

namespace trireme::report {
namespace {

const TracedPlan* plan_of(const RunTrace& trace, std::size_t step) {
    const TracedPlan* found = nullptr;
    for (const TracedPlan& plan : trace.plans) {
        if (plan.first_step <= step) found = &plan;
    }
    return found;
}

// Returns the row of each rank in the drawing.
std::vector<std::size_t> rows_of_ranks(const TracedPlan* plan, int ranks) {
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

// The time span of a step.
struct Window {
    double begin = std::numeric_limits<double>::infinity();
    double end = 0;
};

Window window_of(const RunTrace& trace, std::size_t step) {
    Window window;
    for (const TracedEvent& event : trace.events) {
        if (event.step != step || (event.lane != "compute" && event.lane != "steps")) continue;
        window.begin = std::min(window.begin, event.begin);
        window.end = std::max(window.end, event.end);
    }
    return window;
}

// Returns the kind of an event besides instructions; empty if it is not drawn.
std::optional<Beside> beside_of(const TracedEvent& event) {
    if (event.lane == "compute") return Beside::pause;
    if (event.lane == "state on its way") return Beside::state;
    if (event.lane == "checkpoint") return Beside::checkpoint;
    const bool is_wait = event.lane == "messages" && event.name.rfind("wait", 0) == 0;
    return is_wait ? std::optional(Beside::wait) : std::nullopt;
}

double waited_within(const std::vector<BesideSpan>& beside, double begin, double end) {
    double sum = 0;
    for (const BesideSpan& span : beside) {
        if (span.kind == Beside::wait) {
            sum += std::max(0.0, std::min(end, span.end) - std::max(begin, span.begin));
        }
    }
    return sum;
}

// Returns the time of an instruction without its waits.
double time_of(const trireme::schedule::Span& span, const std::vector<BesideSpan>& beside) {
    return span.end - span.begin - waited_within(beside, span.begin, span.end);
}

struct Mean {
    double sum = 0;
    double count = 0;

    double value() const { return count > 0 ? sum / count : 0; }
};

// Means per stage and kind of instruction.
using Means = std::map<std::pair<int, schedule::Op>, Mean>;

Means means_of(const Timeline& measured) {
    Means means;
    for (std::size_t row = 0; row < measured.prediction.spans.size(); ++row) {
        for (const trireme::schedule::Span& span : measured.prediction.spans[row]) {
            Mean& mean = means[{span.instruction.stage, span.instruction.op}];
            mean.sum += time_of(span, measured.beside[row]);
            ++mean.count;
        }
    }
    return means;
}

schedule::StageCost cost_of(Means& means, int stage) {
    const auto mean = [&](schedule::Op op) { return means[{stage, op}].value(); };
    const double half = mean(schedule::Op::backward) / 2;  // if backward passes are whole
    const bool is_divided = means[{stage, schedule::Op::backward_input}].count > 0;
    return {.forward = mean(schedule::Op::forward),
            .backward_input = is_divided ? mean(schedule::Op::backward_input) : half,
            .backward_weight = is_divided ? mean(schedule::Op::backward_weight) : half,
            .step = mean(schedule::Op::step)};
}

std::string words_of(const RunTrace& trace) {
    std::string words = trace.first_step == trace.last_step
                            ? cat("trace.json shows step ", trace.first_step)
                            : cat("trace.json shows steps ", trace.first_step, " to ", trace.last_step);
    words += " in full: open it in Perfetto (https://ui.perfetto.dev, \"Open trace file\").";
    if (trace.left_out > 0)
        words += cat(" ", plural(static_cast<double>(trace.left_out), "event"), " had no room in it.");
    return element("p", escaped(words));
}

}  // namespace

std::size_t shown_step(const RunTrace& trace) {
    for (const char* name : {"change of plan", "copy"}) {
        for (const TracedEvent& event : trace.events) {
            const std::size_t step = event.name == "copy" ? event.step + 1 : event.step;
            if (event.name == name && step <= trace.last_step) return step;
        }
    }
    return trace.last_step;
}

Timeline measured(const RunTrace& trace, std::size_t step) {
    const std::vector<std::size_t> rows = rows_of_ranks(plan_of(trace, step), trace.ranks);
    const Window window = window_of(trace, step);
    Timeline timeline{.title = cat("step ", step, " as it was"), .prediction = {}};
    timeline.rows.resize(rows.size());
    timeline.beside.resize(rows.size());
    timeline.prediction.spans.resize(rows.size());
    timeline.prediction.makespan = window.end - window.begin;
    for (std::size_t rank = 0; rank < rows.size(); ++rank) timeline.rows[rows[rank]] = cat("rank ", rank);
    for (const TracedEvent& event : trace.events) {
        const double begin = std::max(event.begin, window.begin) - window.begin;
        const double end = std::min(event.end, window.end) - window.begin;
        if (begin >= end) continue;
        const std::size_t row = rows.at(static_cast<std::size_t>(event.rank));
        if (event.is_instruction && event.lane == "compute") {
            timeline.prediction.spans[row].push_back(
                {schedule::parse_instruction(event.name, "trace.json"), begin, end});
        } else if (const auto kind = beside_of(event)) {
            timeline.beside[row].push_back({*kind, event.name, begin, end});
        }
    }
    for (std::size_t row = 0; row < rows.size(); ++row) {
        double& busy = timeline.prediction.busy.emplace_back();
        for (const trireme::schedule::Span& span : timeline.prediction.spans[row])
            busy += time_of(span, timeline.beside[row]);
    }
    return timeline;
}

Timeline predicted(const TracedPlan& plan, const Timeline& measured) {
    Means means = means_of(measured);
    std::vector<schedule::StageCost> costs;
    for (int stage = 0; stage < plan.shape.stages(); ++stage) costs.push_back(cost_of(means, stage));
    Timeline timeline{.title = cat(plan.schedule, ", if nothing but these passes and updates took time"),
                      .prediction = predict(plan.programs, plan.shape, costs)};
    for (std::size_t team = 0; team < plan.teams.size(); ++team) {
        const std::vector<int>& ranks = plan.teams[team];
        timeline.rows.push_back(ranks.size() == 1 ? cat("rank ", ranks.front()) : cat("team ", team));
    }
    return timeline;
}

std::string drawn(const RunTrace& trace) {
    if (trace.events.empty()) return "";
    const std::size_t step = shown_step(trace);
    std::vector<Timeline> timelines{measured(trace, step)};
    const TracedPlan* const plan = plan_of(trace, step);
    if (plan != nullptr && !plan->programs.empty()) timelines.push_back(predicted(*plan, timelines.front()));
    return schedules_svg(timelines, "milliseconds") + words_of(trace);
}

}  // namespace trireme::report
