#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "report/axis.hpp"
#include "report/html.hpp"
#include "trireme/report/report.hpp"

namespace trireme::report {
namespace {

using report::Axis;
using report::escaped;
using report::significant;

constexpr double title_width = 72;
constexpr double margin = 12;
constexpr double head_height = 58;  // title and legend
constexpr double foot_height = 44;  // the axis
constexpr double gap_height = 38;   // between two timelines: the title of the second one
constexpr double row_height = 26;
constexpr double row_pitch = 32;
constexpr double line_height = 6;  // of a span below a row
constexpr double line_pitch = 9;
constexpr double least_width = 700;
constexpr double least_width_beside = 880;  // leaves room for a longer legend
constexpr double most_width = 6000;
constexpr double wanted_cell = 26;  // of the shortest instruction
constexpr double digit_width = 7;   // of a label, with its spacing
constexpr double least_beside = 0.4;
constexpr double least_update = 2;  // pixels; makes an update of no duration visible

constexpr const char* style = R"css(<style>
.schedule { background: #fff; font: 12px system-ui, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
.schedule text { fill: #5a6675; font-size: 12px; font-variant-numeric: tabular-nums; }
.schedule .title { fill: #1c2430; font-size: 14px; font-weight: 600; }
.schedule .label { fill: #fff; font-size: 11px; } .schedule .dark { fill: #1c2430; }
.schedule .row { fill: #f1f3f6; } .cell { stroke: #fff; stroke-width: 1; } .schedule .axis { stroke: #5a6675; fill: none; }
.f { fill: #1f66ad; } .b { fill: #e08214; } .i { fill: #f2b061; } .w { fill: #9aa5b1; } .s { fill: #1c2430; }
.wait { fill: #d3dae2; } .pause { fill: #c9a0a0; } .state { fill: #1b7f4b; } .checkpoint { fill: #7b5ea7; }
</style>
)css";

struct Kind {
    const char* colour;  // class in the style sheet
    const char* name;
    bool has_dark_label = false;
};

Kind kind_of(schedule::Op op) {
    switch (op) {
        case schedule::Op::forward:
            return {"f", "F, forward"};
        case schedule::Op::backward:
            return {"b", "B, whole backward"};
        case schedule::Op::backward_input:
            return {"i", "I, gradient of the input", true};
        case schedule::Op::backward_weight:
            return {"w", "W, gradient of the weights", true};
        case schedule::Op::step:
            return {"s", "STEP, update"};
        case schedule::Op::send_forward:
        case schedule::Op::receive_forward:
        case schedule::Op::send_backward:
        case schedule::Op::receive_backward:
        case schedule::Op::reduce:
        case schedule::Op::validate:
            break;
    }
    return {"s", "other"};
}

template <class Visit>
void for_each_span(const schedule::Prediction& prediction, const Visit& visit) {
    for (const std::vector<schedule::Span>& spans : prediction.spans) {
        for (const schedule::Span& span : spans) visit(span);
    }
}

// Returns true if some team has more than one stage.
bool names_stages(const schedule::Prediction& prediction) {
    return std::any_of(prediction.spans.begin(), prediction.spans.end(),
                       [](const std::vector<schedule::Span>& spans) {
                           return std::any_of(spans.begin(), spans.end(), [&](const schedule::Span& span) {
                               return span.instruction.stage != spans.front().instruction.stage;
                           });
                       });
}

// Maps time to pixels, with one scale for all timelines.
struct TimeScale {
    double end = 0;  // makespan of the longest timeline
    double width = least_width;

    double across(double time) const { return title_width + (end > 0 ? time / end : 0) * width; }
    double right() const { return title_width + width; }
};

// Makes the shortest instruction as wide as its label needs. In measured timelines some instructions take
// almost no time, so there the median one gets this width.
TimeScale time_scale_of(const std::vector<Timeline>& timelines) {
    TimeScale scale;
    std::vector<double> lengths;
    for (const Timeline& timeline : timelines) {
        scale.end = std::max(scale.end, timeline.prediction.makespan);
        for_each_span(timeline.prediction, [&](const schedule::Span& span) {
            const double length = span.end - span.begin;
            if (is_compute(span.instruction.op) && length > 0) lengths.push_back(length);
        });
    }
    const auto has_beside = [](const Timeline& timeline) { return !timeline.beside.empty(); };
    const bool is_measured = std::ranges::any_of(timelines, has_beside);
    scale.width = is_measured ? least_width_beside : least_width;
    if (lengths.empty()) return scale;
    std::ranges::sort(lengths);
    const double shown = lengths[is_measured ? lengths.size() / 2 : 0];
    scale.width = std::clamp(wanted_cell * scale.end / shown, scale.width, most_width);
    return scale;
}

const char* class_of(Beside kind) {
    switch (kind) {
        case Beside::wait:
            return "wait";
        case Beside::pause:
            return "pause";
        case Beside::state:
            return "state";
        case Beside::checkpoint:
            return "checkpoint";
    }
    return "";
}

const char* name_of(Beside kind) {
    switch (kind) {
        case Beside::wait:
            return "wait";
        case Beside::pause:
            return "all stop";
        case Beside::state:
            return "state on its way";
        case Beside::checkpoint:
            return "checkpoint";
    }
    return "";
}

bool has_kind(const Timeline& timeline, Beside kind) {
    return std::ranges::any_of(timeline.beside, [&](const std::vector<BesideSpan>& row) {
        return std::ranges::any_of(row, [&](const BesideSpan& span) { return span.kind == kind; });
    });
}

// The rows of one timeline, in pixels from the upper left corner.
class TimelineRows {
public:
    TimelineRows(const Timeline& timeline, const TimeScale& scale, double top)
        : timeline_(timeline),
          prediction_(timeline.prediction),
          scale_(scale),
          top_(top),
          pitch_(row_pitch + (has_kind(timeline, Beside::state) ? line_pitch : 0) +
                 (has_kind(timeline, Beside::checkpoint) ? line_pitch : 0)),
          names_stage_(names_stages(timeline.prediction)) {}

    double bottom() const { return top_ + pitch_ * static_cast<double>(prediction_.spans.size()); }

    std::string drawn() const {
        std::string svg;
        for (std::size_t team = 0; team < prediction_.spans.size(); ++team) svg += row(team);
        return svg;
    }

private:
    std::string row(std::size_t team) const {
        const double top = top_ + pitch_ * static_cast<double>(team);
        std::string svg = fmt::format(
            "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n"
            "<rect class=\"row\" x=\"{}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\"/>\n",
            title_width - 10, top + row_height / 2 + 4, name_of_row(team), title_width, top,
            scale_.across(prediction_.makespan) - title_width, row_height);
        for (const schedule::Span& span : prediction_.spans[team]) svg += cell(span, top);
        if (timeline_.beside.empty()) return svg;
        for (const BesideSpan& span : timeline_.beside[team]) svg += beside(span, top);
        return svg;
    }

    std::string name_of_row(std::size_t team) const {
        return timeline_.rows.empty() ? fmt::format("team {}", team) : escaped(timeline_.rows[team]);
    }

    // Draws a span besides the instructions. Omits spans that are too short to be seen.
    std::string beside(const BesideSpan& span, double top) const {
        const double left = scale_.across(span.begin);
        const double width = scale_.across(span.end) - left;
        if (width < least_beside) return "";
        const bool is_below = span.kind == Beside::state || span.kind == Beside::checkpoint;
        const bool is_second = span.kind == Beside::checkpoint && has_kind(timeline_, Beside::state);
        if (is_below) top += row_height + 3 + (is_second ? line_pitch : 0);
        return fmt::format(
            "<rect class=\"{}\" x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\"><title>{}: {} to "
            "{}</title></rect>\n",
            class_of(span.kind), left, top, width, is_below ? line_height : row_height, escaped(span.name),
            significant(span.begin), significant(span.end));
    }

    std::string label_of(const schedule::Instruction& instruction) const {
        if (!has_microbatch(instruction.op)) return "";
        return names_stage_ ? to_string(instruction) : std::to_string(instruction.microbatch);
    }

    std::string cell(const schedule::Span& span, double top) const {
        const Kind kind = kind_of(span.instruction.op);
        const bool is_update = !is_compute(span.instruction.op);
        const double left = scale_.across(span.begin);
        const double width = std::max(scale_.across(span.end) - left, is_update ? least_update : 0);
        std::string svg = fmt::format(
            "<rect class=\"cell {}\" x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\"><title>{}: {} to "
            "{}</title></rect>\n",
            kind.colour, left, top, width, row_height, to_string(span.instruction), significant(span.begin),
            significant(span.end));
        const std::string label = label_of(span.instruction);
        if (label.empty() || width < digit_width * static_cast<double>(label.size()) + 4) return svg;
        return svg + fmt::format(
                         "<text class=\"label{}\" x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\" "
                         "pointer-events=\"none\">{}</text>\n",
                         kind.has_dark_label ? " dark" : "", left + width / 2, top + row_height / 2 + 4, label);
    }

    const Timeline& timeline_;
    const schedule::Prediction& prediction_;
    const TimeScale& scale_;
    double top_;
    double pitch_;  // from one row to the next
    bool names_stage_;
};

std::string axis(const TimeScale& scale, double top, const std::string& unit) {
    const Axis time({0, scale.end}, Scale::linear, 11, false);
    std::string svg =
        fmt::format("<path class=\"axis\" d=\"M{} {}H{:.1f}\"/>\n", title_width, top, scale.right());
    for (const double tick : time.ticks()) {
        svg += fmt::format(
            "<path class=\"axis\" d=\"M{0:.1f} {1}v5\"/><text x=\"{0:.1f}\" y=\"{2}\" "
            "text-anchor=\"middle\">{3}</text>\n",
            scale.across(tick), top, top + 19, time.label(tick));
    }
    return svg + fmt::format("<text x=\"{}\" y=\"{}\">{}</text>\n", title_width, top + 37, escaped(unit));
}

bool has_kind(const std::vector<Timeline>& timelines, schedule::Op op) {
    bool is_there = false;
    for (const Timeline& timeline : timelines) {
        for_each_span(timeline.prediction,
                      [&](const schedule::Span& span) { is_there |= span.instruction.op == op; });
    }
    return is_there;
}

// Draws a legend of the kinds that occur.
std::string legend(const std::vector<Timeline>& timelines) {
    std::string svg;
    double left = title_width;
    const auto add = [&](const char* colour, const char* name) {
        svg += fmt::format(
            "<rect class=\"{}\" x=\"{}\" y=\"34\" width=\"12\" height=\"12\"/>"
            "<text x=\"{}\" y=\"44\">{}</text>\n",
            colour, left, left + 17, name);
        left += 17 + digit_width * static_cast<double>(std::char_traits<char>::length(name)) + 16;
    };
    for (const schedule::Op op : {schedule::Op::forward, schedule::Op::backward, schedule::Op::backward_input,
                                  schedule::Op::backward_weight, schedule::Op::step}) {
        if (has_kind(timelines, op)) add(kind_of(op).colour, kind_of(op).name);
    }
    for (const Beside kind : {Beside::wait, Beside::pause, Beside::state, Beside::checkpoint}) {
        const auto has = [&](const Timeline& timeline) { return has_kind(timeline, kind); };
        if (std::ranges::any_of(timelines, has)) add(class_of(kind), name_of(kind));
    }
    return svg;
}

std::string name_of(const Timeline& timeline) {
    return fmt::format("{}: time {}, bubble {}", timeline.title, significant(timeline.prediction.makespan),
                       report::percent(timeline.prediction.bubble()));
}

std::string title_text(const Timeline& timeline, double y) {
    return fmt::format("<text class=\"title\" x=\"{}\" y=\"{}\">{}</text>\n", title_width, y,
                       escaped(name_of(timeline)));
}

}  // namespace

std::string schedule_svg(const schedule::Prediction& prediction, const std::string& title) {
    return schedules_svg({{.title = title, .prediction = prediction}});
}

std::string schedules_svg(const std::vector<Timeline>& timelines, const std::string& unit) {
    const TimeScale scale = time_scale_of(timelines);
    double bottom = head_height - gap_height;
    std::string names;
    std::string rows;
    for (const Timeline& timeline : timelines) {
        const double title_y = names.empty() ? 22 : bottom + gap_height - 10;
        const TimelineRows drawing(timeline, scale, bottom + gap_height);
        rows += title_text(timeline, title_y) + drawing.drawn();
        names += (names.empty() ? "" : "; ") + name_of(timeline);
        bottom = drawing.bottom();
    }
    std::string svg = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"schedule\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
        "viewBox=\"0 0 {0:.0f} "
        "{1:.0f}\" role=\"img\" aria-label=\"{2}\">\n",
        scale.right() + margin, bottom + foot_height, escaped(names));
    svg += style + std::string("<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n");
    return svg + legend(timelines) + rows + axis(scale, bottom, unit) + "</svg>\n";
}

}  // namespace trireme::report
