#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "report/axis.hpp"
#include "report/html.hpp"
#include "trireme/report/report.hpp"

namespace trireme::report {
namespace {

using report::Axis;
using report::escape_html;
using report::format_significant;

// Lengths in the drawing, in pixels.
constexpr double row_name_width = 72;
constexpr double margin = 12;
constexpr double head_height = 58;  // title and legend
constexpr double foot_height = 44;  // the axis
constexpr double gap_height = 38;   // between two timelines: the title of the second one
constexpr double row_height = 26;
constexpr double row_pitch = 32;
constexpr double line_height = 6;  // of an extra span that is drawn below a row
constexpr double line_pitch = 9;
constexpr double min_width = 700;           // of the time axis
constexpr double min_width_measured = 880;  // leaves room for a longer legend
constexpr double max_width = 6000;
constexpr double preferred_instruction_width = 26;  // of an instruction: see make_time_scale()
constexpr double digit_width = 7;                   // of a character of a label, with its spacing
constexpr double min_extra_span_width = 0.4;
constexpr double min_update_width = 2;  // makes an update of no duration visible

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

struct InstructionStyle {
    const char* colour;  // class in the style sheet
    const char* name;
    bool has_dark_label = false;
};

InstructionStyle find_style(schedule::Op op) {
    switch (op) {
        case schedule::Op::forward:
            return {"f", "F, forward"};
        case schedule::Op::backward:
            return {"b", "B, full backward"};
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
        case schedule::Op::set_clock:
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
bool has_several_stages(const schedule::Prediction& prediction) {
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
    double width = min_width;

    double to_pixels(double time) const { return row_name_width + (end > 0 ? time / end : 0) * width; }
    double right_edge() const { return row_name_width + width; }
};

// Chooses the width so that the shortest instruction is as wide as its label needs. In measured timelines some
// instructions take almost no time, so there the median instruction gets this width.
TimeScale make_time_scale(const std::vector<Timeline>& timelines) {
    TimeScale scale;
    std::vector<double> lengths;
    for (const Timeline& timeline : timelines) {
        scale.end = std::max(scale.end, timeline.prediction.makespan);
        for_each_span(timeline.prediction, [&](const schedule::Span& span) {
            const double length = span.end - span.begin;
            if (is_compute(span.instruction.op) && length > 0) lengths.push_back(length);
        });
    }
    const auto has_extra_spans = [](const Timeline& timeline) { return !timeline.extra_spans.empty(); };
    const bool is_measured = std::ranges::any_of(timelines, has_extra_spans);
    scale.width = is_measured ? min_width_measured : min_width;
    if (lengths.empty()) return scale;
    std::ranges::sort(lengths);
    const double reference_length = lengths[is_measured ? lengths.size() / 2 : 0];
    scale.width =
        std::clamp(preferred_instruction_width * scale.end / reference_length, scale.width, max_width);
    return scale;
}

const char* find_css_class(ExtraSpanKind kind) {
    switch (kind) {
        case ExtraSpanKind::wait:
            return "wait";
        case ExtraSpanKind::pause:
            return "pause";
        case ExtraSpanKind::state:
            return "state";
        case ExtraSpanKind::checkpoint:
            return "checkpoint";
    }
    return "";
}

const char* to_string(ExtraSpanKind kind) {
    switch (kind) {
        case ExtraSpanKind::wait:
            return "wait";
        case ExtraSpanKind::pause:
            return "all ranks pause";
        case ExtraSpanKind::state:
            return "state on its way";
        case ExtraSpanKind::checkpoint:
            return "checkpoint";
    }
    return "";
}

// The lowest and the highest clock that the timelines show; both are 0 if no clock is set.
struct ClockRange {
    int low = 0;  // MHz
    int high = 0;

    // Returns the opacity of a pass, which is lower for lower clocks.
    double find_opacity(int mhz) const {
        constexpr double min_opacity = 0.4;
        if (mhz == 0 || low == high) return 1;
        return min_opacity + (1 - min_opacity) * (mhz - low) / static_cast<double>(high - low);
    }
};

ClockRange find_clock_range(const std::vector<Timeline>& timelines) {
    ClockRange range;
    for (const Timeline& timeline : timelines) {
        for_each_span(timeline.prediction, [&](const schedule::Span& span) {
            if (span.mhz == 0) return;
            range.low = range.low == 0 ? span.mhz : std::min(range.low, span.mhz);
            range.high = std::max(range.high, span.mhz);
        });
    }
    return range;
}

bool has_kind(const Timeline& timeline, ExtraSpanKind kind) {
    return std::ranges::any_of(timeline.extra_spans, [&](const std::vector<ExtraSpan>& row) {
        return std::ranges::any_of(row, [&](const ExtraSpan& span) { return span.kind == kind; });
    });
}

// Draws the rows of one timeline. `top` is the y coordinate of the first row, in pixels.
class TimelineRows {
public:
    TimelineRows(const Timeline& timeline, const TimeScale& scale, const ClockRange& clocks, double top)
        : timeline_(timeline),
          prediction_(timeline.prediction),
          scale_(scale),
          clocks_(clocks),
          top_(top),
          pitch_(row_pitch + (has_kind(timeline, ExtraSpanKind::state) ? line_pitch : 0) +
                 (has_kind(timeline, ExtraSpanKind::checkpoint) ? line_pitch : 0)),
          names_stage_(has_several_stages(timeline.prediction)) {}

    double bottom() const { return top_ + pitch_ * static_cast<double>(prediction_.spans.size()); }

    std::string draw() const {
        std::string svg;
        for (std::size_t row = 0; row < prediction_.spans.size(); ++row) svg += draw_row(row);
        return svg;
    }

private:
    std::string draw_row(std::size_t row) const {
        const double top = top_ + pitch_ * static_cast<double>(row);
        std::string svg = fmt::format(
            "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n"
            "<rect class=\"row\" x=\"{}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\"/>\n",
            row_name_width - 10, top + row_height / 2 + 4, find_row_name(row), row_name_width, top,
            scale_.to_pixels(prediction_.makespan) - row_name_width, row_height);
        for (const schedule::Span& span : prediction_.spans[row]) svg += draw_instruction(span, top);
        if (timeline_.extra_spans.empty()) return svg;
        for (const ExtraSpan& span : timeline_.extra_spans[row]) svg += draw_extra_span(span, top);
        return svg;
    }

    std::string find_row_name(std::size_t row) const {
        return timeline_.row_names.empty() ? fmt::format("team {}", row)
                                           : escape_html(timeline_.row_names[row]);
    }

    // Draws an extra span. Returns an empty text for a span that is too short to be seen.
    std::string draw_extra_span(const ExtraSpan& span, double top) const {
        const double left = scale_.to_pixels(span.begin);
        const double width = scale_.to_pixels(span.end) - left;
        if (width < min_extra_span_width) return "";
        const bool is_below = span.kind == ExtraSpanKind::state || span.kind == ExtraSpanKind::checkpoint;
        const bool is_second_line =
            span.kind == ExtraSpanKind::checkpoint && has_kind(timeline_, ExtraSpanKind::state);
        if (is_below) top += row_height + 3 + (is_second_line ? line_pitch : 0);
        return fmt::format(
            "<rect class=\"{}\" x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\"><title>{}: {} to "
            "{}</title></rect>\n",
            find_css_class(span.kind), left, top, width, is_below ? line_height : row_height,
            escape_html(span.name), format_significant(span.begin), format_significant(span.end));
    }

    std::string make_label(const schedule::Instruction& instruction) const {
        if (!has_microbatch(instruction.op)) return "";
        return names_stage_ ? to_string(instruction) : std::to_string(instruction.microbatch);
    }

    std::string draw_instruction(const schedule::Span& span, double top) const {
        const InstructionStyle kind = find_style(span.instruction.op);
        const bool is_update = !is_compute(span.instruction.op);
        const double left = scale_.to_pixels(span.begin);
        const double width = std::max(scale_.to_pixels(span.end) - left, is_update ? min_update_width : 0);
        const double opacity = clocks_.find_opacity(span.mhz);
        std::string svg = fmt::format(
            "<rect class=\"cell {}\" x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\"{}><title>{}: {} to "
            "{}{}</title></rect>\n",
            kind.colour, left, top, width, row_height,
            opacity < 1 ? fmt::format(" fill-opacity=\"{:.2f}\"", opacity) : "", to_string(span.instruction),
            format_significant(span.begin), format_significant(span.end),
            span.mhz == 0 ? "" : fmt::format(", {} MHz", span.mhz));
        const std::string label = make_label(span.instruction);
        if (label.empty() || width < digit_width * static_cast<double>(label.size()) + 4) return svg;
        return svg + fmt::format(
                         "<text class=\"label{}\" x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\" "
                         "pointer-events=\"none\">{}</text>\n",
                         kind.has_dark_label ? " dark" : "", left + width / 2, top + row_height / 2 + 4, label);
    }

    const Timeline& timeline_;
    const schedule::Prediction& prediction_;
    const TimeScale& scale_;
    const ClockRange& clocks_;
    double top_;
    double pitch_;      // from one row to the next
    bool names_stage_;  // true if labels name the stage
};

std::string draw_axis(const TimeScale& scale, double top, const std::string& unit) {
    const Axis time({0, scale.end}, Scale::linear, 11, false);
    std::string svg =
        fmt::format("<path class=\"axis\" d=\"M{} {}H{:.1f}\"/>\n", row_name_width, top, scale.right_edge());
    for (const double tick : time.ticks()) {
        svg += fmt::format(
            "<path class=\"axis\" d=\"M{0:.1f} {1}v5\"/><text x=\"{0:.1f}\" y=\"{2}\" "
            "text-anchor=\"middle\">{3}</text>\n",
            scale.to_pixels(tick), top, top + 19, time.format_label(tick));
    }
    return svg +
           fmt::format("<text x=\"{}\" y=\"{}\">{}</text>\n", row_name_width, top + 37, escape_html(unit));
}

bool has_kind(const std::vector<Timeline>& timelines, schedule::Op op) {
    bool is_present = false;
    for (const Timeline& timeline : timelines) {
        for_each_span(timeline.prediction,
                      [&](const schedule::Span& span) { is_present |= span.instruction.op == op; });
    }
    return is_present;
}

// Draws a legend of the kinds of spans that occur in the timelines, and of their clocks.
std::string draw_legend(const std::vector<Timeline>& timelines, const ClockRange& clocks) {
    std::string svg;
    double left = row_name_width;
    const auto add = [&](const char* colour, const std::string& name) {
        svg += fmt::format(
            "<rect class=\"{}\" x=\"{}\" y=\"34\" width=\"12\" height=\"12\"/>"
            "<text x=\"{}\" y=\"44\">{}</text>\n",
            colour, left, left + 17, name);
        left += 17 + digit_width * static_cast<double>(name.size()) + 16;
    };
    for (const schedule::Op op : {schedule::Op::forward, schedule::Op::backward, schedule::Op::backward_input,
                                  schedule::Op::backward_weight, schedule::Op::step}) {
        if (has_kind(timelines, op)) add(find_style(op).colour, find_style(op).name);
    }
    for (const ExtraSpanKind kind :
         {ExtraSpanKind::wait, ExtraSpanKind::pause, ExtraSpanKind::state, ExtraSpanKind::checkpoint}) {
        const auto occurs_in = [&](const Timeline& timeline) { return has_kind(timeline, kind); };
        if (std::ranges::any_of(timelines, occurs_in)) add(find_css_class(kind), to_string(kind));
    }
    if (clocks.low < clocks.high)
        svg += fmt::format("<text x=\"{}\" y=\"44\">paler: lower clock, {} to {} MHz</text>\n", left,
                           clocks.low, clocks.high);
    return svg;
}

std::string to_string(const Timeline& timeline) {
    return fmt::format("{}: time {}, bubble {}", timeline.title,
                       format_significant(timeline.prediction.makespan),
                       report::format_percent(timeline.prediction.compute_bubble()));
}

std::string draw_title(const Timeline& timeline, double y) {
    return fmt::format("<text class=\"title\" x=\"{}\" y=\"{}\">{}</text>\n", row_name_width, y,
                       escape_html(to_string(timeline)));
}

}  // namespace

std::string draw_schedule(const schedule::Prediction& prediction, const std::string& title) {
    return draw_timelines({{.title = title, .prediction = prediction}});
}

std::string draw_timelines(const std::vector<Timeline>& timelines, const std::string& unit) {
    const TimeScale scale = make_time_scale(timelines);
    const ClockRange clocks = find_clock_range(timelines);
    double bottom = head_height - gap_height;
    std::string names;
    std::string rows;
    for (const Timeline& timeline : timelines) {
        const double title_y = names.empty() ? 22 : bottom + gap_height - 10;
        const TimelineRows drawing(timeline, scale, clocks, bottom + gap_height);
        rows += draw_title(timeline, title_y) + drawing.draw();
        names += (names.empty() ? "" : "; ") + to_string(timeline);
        bottom = drawing.bottom();
    }
    std::string svg = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"schedule\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
        "viewBox=\"0 0 {0:.0f} "
        "{1:.0f}\" role=\"img\" aria-label=\"{2}\">\n",
        scale.right_edge() + margin, bottom + foot_height, escape_html(names));
    svg += style + std::string("<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n");
    return svg + draw_legend(timelines, clocks) + rows + draw_axis(scale, bottom, unit) + "</svg>\n";
}

}  // namespace trireme::report
