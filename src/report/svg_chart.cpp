#include "report/svg_chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <span>

#include "report/html.hpp"

namespace trireme::report {
namespace {

bool is_lower(const Point& a, const Point& b) { return a.y < b.y; }

// Fits the least-squares line to the y values of the window as a function of the index in the window. Returns
// the value of the line at `index`, clamped to the range of the y values.
double fit_line_at(std::span<const Point> window, std::size_t index) {
    const auto count = static_cast<double>(window.size());
    const double middle = (count - 1) / 2;
    double mean = 0;
    for (const Point& point : window) mean += point.y / count;
    double slope = 0;
    const double squares = count * (count * count - 1) / 12;  // sum of squared distances from the middle
    for (std::size_t i = 0; i < window.size() && squares > 0; ++i) {
        slope += (static_cast<double>(i) - middle) / squares * (window[i].y - mean);
    }
    const auto [lowest, highest] = std::minmax_element(window.begin(), window.end(), is_lower);
    return std::clamp(mean + slope * (static_cast<double>(index) - middle), lowest->y, highest->y);
}

constexpr double min_log_factor = 5;  // only values that span more than this factor have a log scale

double to_pixels_x(const Axis& x, const Frame& frame, double value) {
    return frame.left + x.compute_position(value) * (frame.right - frame.left);
}
double to_pixels_y(const Axis& y, const Frame& frame, double value) {
    return frame.bottom - y.compute_position(value) * (frame.bottom - frame.top);
}

bool is_empty(const Chart& chart) {
    return std::all_of(chart.series.begin(), chart.series.end(),
                       [](const Series& series) { return series.curve.empty(); });
}

Span find_span(const Chart& chart, double Point::*coordinate) {
    Span span{std::numeric_limits<double>::max(), std::numeric_limits<double>::lowest()};
    for (const Series& series : chart.series) {
        for (const Point& point : series.curve) {
            span.low = std::min(span.low, point.*coordinate);
            span.high = std::max(span.high, point.*coordinate);
        }
    }
    return span;
}

// If the first step is 1, the axis begins at 0, as readers expect.
Axis make_x_axis(const Chart& chart) {
    Span span = find_span(chart, &Point::x);
    span.low = std::min(span.low, chart.first_step.value_or(span.low));
    if (span.low == 1) span.low = 0;
    return {span, Scale::linear, chart.is_wide ? 11 : 6, false};
}

Axis make_y_axis(const Chart& chart) {
    Span span = find_span(chart, &Point::y);
    if (chart.starts_at_zero) span = {std::min(0.0, span.low), std::max(0.0, span.high)};
    return {span, choose_y_scale(chart), 6, true};
}

std::string draw_x_axis(const Axis& x, const Frame& f) {
    std::string text;
    for (const double tick : x.ticks()) {
        text += fmt::format(
            "<path class=\"tick\" d=\"M{0:.1f} {1:.1f}v5\"/><text x=\"{0:.1f}\" y=\"{2:.1f}\" "
            "text-anchor=\"middle\">{3}</text>\n",
            to_pixels_x(x, f, tick), f.bottom, f.bottom + 19, x.format_label(tick));
    }
    return text + fmt::format(
                      "<path class=\"axis\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>\n"
                      "<text class=\"name\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">step</text>\n",
                      f.left, f.bottom, f.right, (f.left + f.right) / 2, f.bottom + 37);
}

std::string draw_y_axis(const Chart& chart, const Axis& y, const Frame& f) {
    std::string text;
    for (const double tick : y.ticks()) {
        text += fmt::format(
            "<path class=\"grid\" d=\"M{0:.1f} {1:.1f}H{2:.1f}\"/><text x=\"{3:.1f}\" y=\"{4:.1f}\" "
            "text-anchor=\"end\">{5}</text>\n",
            f.left, to_pixels_y(y, f, tick), f.right, f.left - 7, to_pixels_y(y, f, tick) + 4,
            y.format_label(tick));
    }
    const bool is_log = choose_y_scale(chart) == Scale::log;
    return text + fmt::format(
                      "<text class=\"name\" transform=\"translate(12 {:.1f}) rotate(-90)\" "
                      "text-anchor=\"middle\">{}{}</text>\n",
                      (f.top + f.bottom) / 2, escape_html(chart.y_label), is_log ? " (log scale)" : "");
}

std::string draw_dots(const Series& series, const Axis& x, const Axis& y, const Frame& frame) {
    std::string text;
    for (const Point& point : series.curve) {
        text += fmt::format(
            "<circle class=\"dot c{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\"><title>step {}: "
            "{}</title></circle>\n",
            series.colour, to_pixels_x(x, frame, point.x), to_pixels_y(y, frame, point.y),
            format_with_commas(point.x), format_significant(point.y));
    }
    return text;
}

std::string draw(const Series& series, const Axis& x, const Axis& y, const Frame& frame) {
    // A line needs two points to be visible.
    if (series.mark == Mark::dots || series.curve.size() == 1) return draw_dots(series, x, y, frame);
    const char* kind = series.mark == Mark::faint_line ? "faint" : "line";
    return fmt::format("<polyline class=\"{} c{}\" points=\"{}\"/>\n", kind, series.colour,
                       format_points(series.curve, x, y, frame));
}

// Draws the events whose steps lie within the x axis.
std::string draw_events(const Chart& chart, const Axis& x, const Frame& f) {
    constexpr double short_mark = 10;
    std::string text;
    for (const Event& event : chart.events) {
        const double position = x.compute_position(event.step);
        if (position < 0 || position > 1) continue;
        text += fmt::format(
            "<path class=\"event e{}\" d=\"M{:.1f} {:.1f}V{:.1f}\"><title>after step {}: {}</title></path>\n",
            event.colour, to_pixels_x(x, f, event.step), f.top, event.is_tall ? f.bottom : f.top + short_mark,
            format_with_commas(event.step), escape_html(event.text));
    }
    return text;
}

// Lists each kind of event once, with its number of events.
std::string draw_event_legend(const std::vector<Event>& events) {
    std::vector<const Event*> kinds;
    for (const Event& event : events) {
        const auto is_same = [&](const Event* other) { return other->kind == event.kind; };
        if (std::ranges::none_of(kinds, is_same)) kinds.push_back(&event);
    }
    std::string keys;
    for (const Event* kind : kinds) {
        const auto count = std::ranges::count(events, kind->kind, &Event::kind);
        keys += fmt::format(
            "<span><svg width=\"12\" height=\"12\"><path d=\"M6 0v12\" class=\"event e{}\"/></svg> {} "
            "({})</span>\n",
            kind->colour, escape_html(kind->kind), count);
    }
    return keys;
}

std::string draw_legend(const Chart& chart) {
    std::string keys;
    for (const Series& series : chart.series) {
        if (series.curve.empty()) continue;
        const char* kind = series.mark == Mark::dots ? "dot" : series.mark == Mark::line ? "line" : "faint";
        const char* sign =
            series.mark == Mark::dots ? "<circle cx=\"11\" cy=\"6\" r=\"4\"" : "<path d=\"M0 6h22\"";
        keys += fmt::format("<span><svg width=\"22\" height=\"12\">{} class=\"{} c{}\"/></svg> {}</span>\n",
                            sign, kind, series.colour, escape_html(series.name));
    }
    const std::string events = draw_event_legend(chart.events);
    if (chart.series.size() < 2 && events.empty()) return "";
    return make_element("p", keys + events, "legend");
}

// Lengths in a drawing of bars, in pixels.
constexpr double width = 980;
constexpr double bar_height = 26;
constexpr double pitch = 36;  // from one bar to the next
constexpr double label_width = 150;

double sum_values(const Bar& bar) {
    double sum = 0;
    for (const BarPart& part : bar.parts) sum += part.value;
    return sum;
}

double find_max_length(const std::vector<Bar>& bars) {
    double longest = 0;
    for (const Bar& bar : bars) longest = std::max(longest, sum_values(bar));
    return longest;
}

double find_left_edge(const std::vector<Bar>& bars) {
    const auto has_label = [](const Bar& bar) { return !bar.label.empty(); };
    return std::any_of(bars.begin(), bars.end(), has_label) ? label_width : 0;
}

std::string draw(const Bar& bar, double top, double left, double pixels_per_unit) {
    std::string svg;
    if (!bar.label.empty()) {
        svg += fmt::format("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n", left - 10,
                           top + bar_height / 2 + 4, escape_html(bar.label));
    }
    for (const BarPart& part : bar.parts) {
        const double bar_width = part.value * pixels_per_unit;
        svg += fmt::format(
            "<rect class=\"bar c{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{}\">"
            "<title>{}: {}</title></rect>\n",
            part.colour, left, top, bar_width, bar_height, escape_html(part.name), escape_html(part.text));
        left += bar_width;
    }
    return svg;
}

// Lists the name of each part once. If only one bar has a part of this name, the value of the part is shown,
// too.
std::string draw_legend(const std::vector<Bar>& bars) {
    std::vector<BarPart> parts;
    for (const Bar& bar : bars) {
        for (const BarPart& part : bar.parts) {
            const auto listed = std::ranges::find(parts, part.name, &BarPart::name);
            if (listed == parts.end()) {
                parts.push_back(part);
            } else {
                listed->text.clear();
            }
        }
    }
    std::string keys;
    for (const BarPart& part : parts) {
        const std::string value = part.text.empty() ? "" : " " + make_element("b", escape_html(part.text));
        keys += fmt::format(
            "<span><svg width=\"12\" height=\"12\"><rect class=\"bar c{}\" width=\"12\" "
            "height=\"12\"/></svg> {}{}</span>\n",
            part.colour, escape_html(part.name), value);
    }
    return make_element("p", keys, "legend");
}

}  // namespace

Curve thin_curve(const Curve& curve, std::size_t max_points) {
    if (curve.size() <= max_points) return curve;
    Curve points;
    const std::size_t ranges = max_points / 2;
    for (std::size_t i = 0; i < ranges; ++i) {
        const auto range_begin = [&](std::size_t range) {
            return curve.begin() + static_cast<std::ptrdiff_t>(curve.size() * range / ranges);
        };
        const auto [lowest, highest] = std::minmax_element(range_begin(i), range_begin(i + 1), is_lower);
        points.push_back(*std::min(lowest, highest));
        if (lowest != highest) points.push_back(*std::max(lowest, highest));
    }
    return points;
}

Curve smooth_curve(const Curve& curve, std::size_t reach, std::size_t max_points) {
    Curve result;
    const std::size_t count = std::min(curve.size(), max_points);
    for (std::size_t output_index = 0; output_index < count; ++output_index) {
        const std::size_t i = count > 1 ? output_index * (curve.size() - 1) / (count - 1) : 0;
        const std::size_t first = i - std::min(reach, i);
        const std::size_t end = std::min(i + reach + 1, curve.size());
        result.push_back({curve[i].x, fit_line_at(std::span(curve).subspan(first, end - first), i - first)});
    }
    return result;
}

Frame make_frame(const Chart& chart) {
    if (!chart.is_wide) return {};
    return {.width = 980, .height = 360, .right = 968, .bottom = 316};
}

Scale choose_y_scale(const Chart& chart) {
    const Span span = find_span(chart, &Point::y);
    const bool spans_enough = span.low > 0 && span.high > min_log_factor * span.low;
    return chart.may_be_log && spans_enough ? Scale::log : Scale::linear;
}

std::string format_points(const Curve& curve, const Axis& x, const Axis& y, const Frame& frame) {
    std::string text;
    for (const Point& point : curve) {
        text += fmt::format("{}{:.1f},{:.1f}", text.empty() ? "" : " ", to_pixels_x(x, frame, point.x),
                            to_pixels_y(y, frame, point.y));
    }
    return text;
}

std::string draw_chart(const Chart& chart) {
    if (is_empty(chart)) return "";
    const Frame frame = make_frame(chart);
    const Axis x = make_x_axis(chart);
    const Axis y = make_y_axis(chart);
    std::string svg = fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">\n", frame.width,
                                  frame.height, escape_html(chart.title));
    svg += draw_y_axis(chart, y, frame) + draw_x_axis(x, frame);
    svg += draw_events(chart, x, frame);
    for (const Series& series : chart.series) {
        if (!series.curve.empty()) svg += draw(series, x, y, frame);
    }
    const std::string title = make_element("figcaption", escape_html(chart.title));
    return make_element("figure", title + draw_legend(chart) + svg + "</svg>\n", chart.is_wide ? "wide" : "");
}

std::string draw_bars(const std::string& title, const std::vector<Bar>& bars) {
    const double longest = find_max_length(bars);
    if (longest <= 0) return "";
    const double left = find_left_edge(bars);
    const double height = pitch * static_cast<double>(bars.size());
    std::string svg = fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">\n", width, height,
                                  escape_html(title));
    double top = (pitch - bar_height) / 2;
    for (const Bar& bar : bars) {
        svg += draw(bar, top, left, (width - left) / longest);
        top += pitch;
    }
    return make_element("figure",
                        make_element("figcaption", escape_html(title)) + svg + "</svg>\n" + draw_legend(bars),
                        "wide");
}

}  // namespace trireme::report
