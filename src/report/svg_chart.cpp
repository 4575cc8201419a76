#include "report/svg_chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <span>

#include "report/html.hpp"

namespace trireme::report {
namespace {

bool is_lower(const Point& a, const Point& b) { return a.y < b.y; }

// Returns the least-squares line through the window at index `place`, clamped to the values of the window.
double fitted(std::span<const Point> window, std::size_t place) {
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
    return std::clamp(mean + slope * (static_cast<double>(place) - middle), lowest->y, highest->y);
}

constexpr double log_factor = 5;

double across(const Axis& x, const Frame& frame, double value) {
    return frame.left + x.place(value) * (frame.right - frame.left);
}
double down(const Axis& y, const Frame& frame, double value) {
    return frame.bottom - y.place(value) * (frame.bottom - frame.top);
}

bool is_empty(const Chart& chart) {
    return std::all_of(chart.series.begin(), chart.series.end(),
                       [](const Series& series) { return series.curve.empty(); });
}

Span span_of(const Chart& chart, double Point::*side) {
    Span span{std::numeric_limits<double>::max(), std::numeric_limits<double>::lowest()};
    for (const Series& series : chart.series) {
        for (const Point& point : series.curve) {
            span.low = std::min(span.low, point.*side);
            span.high = std::max(span.high, point.*side);
        }
    }
    return span;
}

// An x axis from step 1 begins at 0, as readers expect.
Axis x_axis(const Chart& chart) {
    Span span = span_of(chart, &Point::x);
    span.low = std::min(span.low, chart.first_step.value_or(span.low));
    if (span.low == 1) span.low = 0;
    return {span, Scale::linear, chart.is_wide ? 11 : 6, false};
}

Axis y_axis(const Chart& chart) {
    Span span = span_of(chart, &Point::y);
    if (chart.from_zero) span = {std::min(0.0, span.low), std::max(0.0, span.high)};
    return {span, y_scale_of(chart), 6, true};
}

std::string draw_x_axis(const Axis& x, const Frame& f) {
    std::string text;
    for (const double tick : x.ticks()) {
        text += fmt::format(
            "<path class=\"tick\" d=\"M{0:.1f} {1:.1f}v5\"/><text x=\"{0:.1f}\" y=\"{2:.1f}\" "
            "text-anchor=\"middle\">{3}</text>\n",
            across(x, f, tick), f.bottom, f.bottom + 19, x.label(tick));
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
            f.left, down(y, f, tick), f.right, f.left - 7, down(y, f, tick) + 4, y.label(tick));
    }
    const bool is_log = y_scale_of(chart) == Scale::log;
    return text + fmt::format(
                      "<text class=\"name\" transform=\"translate(12 {:.1f}) rotate(-90)\" "
                      "text-anchor=\"middle\">{}{}</text>\n",
                      (f.top + f.bottom) / 2, escaped(chart.y_label), is_log ? " (log scale)" : "");
}

std::string draw_dots(const Series& series, const Axis& x, const Axis& y, const Frame& frame) {
    std::string text;
    for (const Point& point : series.curve) {
        text += fmt::format(
            "<circle class=\"dot c{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\"><title>step {}: "
            "{}</title></circle>\n",
            series.colour, across(x, frame, point.x), down(y, frame, point.y), with_commas(point.x),
            significant(point.y));
    }
    return text;
}

std::string draw(const Series& series, const Axis& x, const Axis& y, const Frame& frame) {
    // A line needs two points to be visible.
    if (series.mark == Mark::dots || series.curve.size() == 1) return draw_dots(series, x, y, frame);
    const char* kind = series.mark == Mark::faint_line ? "faint" : "line";
    return fmt::format("<polyline class=\"{} c{}\" points=\"{}\"/>\n", kind, series.colour,
                       coordinates(series.curve, x, y, frame));
}

// Draws the events that lie within the axis.
std::string draw_events(const Chart& chart, const Axis& x, const Frame& f) {
    constexpr double short_mark = 10;
    std::string text;
    for (const Event& event : chart.events) {
        const double place = x.place(event.step);
        if (place < 0 || place > 1) continue;
        text += fmt::format(
            "<path class=\"event e{}\" d=\"M{:.1f} {:.1f}V{:.1f}\"><title>after step {}: {}</title></path>\n",
            event.colour, across(x, f, event.step), f.top, event.is_tall ? f.bottom : f.top + short_mark,
            with_commas(event.step), escaped(event.text));
    }
    return text;
}

// Lists each kind once, with its number of events.
std::string legend_of_events(const std::vector<Event>& events) {
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
            kind->colour, escaped(kind->kind), count);
    }
    return keys;
}

std::string legend(const Chart& chart) {
    std::string keys;
    for (const Series& series : chart.series) {
        if (series.curve.empty()) continue;
        const char* kind = series.mark == Mark::dots ? "dot" : series.mark == Mark::line ? "line" : "faint";
        const char* sign =
            series.mark == Mark::dots ? "<circle cx=\"11\" cy=\"6\" r=\"4\"" : "<path d=\"M0 6h22\"";
        keys += fmt::format("<span><svg width=\"22\" height=\"12\">{} class=\"{} c{}\"/></svg> {}</span>\n",
                            sign, kind, series.colour, escaped(series.name));
    }
    const std::string events = legend_of_events(chart.events);
    if (chart.series.size() < 2 && events.empty()) return "";
    return element("p", keys + events, "legend");
}

constexpr double width = 980;
constexpr double bar_height = 26;
constexpr double pitch = 36;  // from one bar to the next
constexpr double label_width = 150;

double length_of(const Bar& bar) {
    double sum = 0;
    for (const BarPart& part : bar.parts) sum += part.value;
    return sum;
}

double longest_of(const std::vector<Bar>& bars) {
    double longest = 0;
    for (const Bar& bar : bars) longest = std::max(longest, length_of(bar));
    return longest;
}

double left_of(const std::vector<Bar>& bars) {
    const auto has_label = [](const Bar& bar) { return !bar.label.empty(); };
    return std::any_of(bars.begin(), bars.end(), has_label) ? label_width : 0;
}

std::string draw(const Bar& bar, double top, double left, double per_unit) {
    std::string svg;
    if (!bar.label.empty()) {
        svg += fmt::format("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n", left - 10,
                           top + bar_height / 2 + 4, escaped(bar.label));
    }
    for (const BarPart& part : bar.parts) {
        const double extent = part.value * per_unit;
        svg += fmt::format(
            "<rect class=\"bar c{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{}\">"
            "<title>{}: {}</title></rect>\n",
            part.colour, left, top, extent, bar_height, escaped(part.name), escaped(part.text));
        left += extent;
    }
    return svg;
}

// Lists each name once, with its value if only one bar has it.
std::string legend(const std::vector<Bar>& bars) {
    std::vector<BarPart> parts;
    for (const Bar& bar : bars) {
        for (const BarPart& part : bar.parts) {
            const auto known = std::ranges::find(parts, part.name, &BarPart::name);
            if (known == parts.end()) {
                parts.push_back(part);
            } else {
                known->text.clear();
            }
        }
    }
    std::string keys;
    for (const BarPart& part : parts) {
        const std::string value = part.text.empty() ? "" : " " + element("b", escaped(part.text));
        keys += fmt::format(
            "<span><svg width=\"12\" height=\"12\"><rect class=\"bar c{}\" width=\"12\" "
            "height=\"12\"/></svg> {}{}</span>\n",
            part.colour, escaped(part.name), value);
    }
    return element("p", keys, "legend");
}

}  // namespace

Curve thinned(const Curve& curve, std::size_t most) {
    if (curve.size() <= most) return curve;
    Curve kept;
    const std::size_t stretches = most / 2;
    for (std::size_t i = 0; i < stretches; ++i) {
        const auto at = [&](std::size_t stretch) {
            return curve.begin() + static_cast<std::ptrdiff_t>(curve.size() * stretch / stretches);
        };
        const auto [lowest, highest] = std::minmax_element(at(i), at(i + 1), is_lower);
        kept.push_back(*std::min(lowest, highest));
        if (lowest != highest) kept.push_back(*std::max(lowest, highest));
    }
    return kept;
}

Curve smoothed(const Curve& curve, std::size_t reach, std::size_t most) {
    Curve result;
    const std::size_t count = std::min(curve.size(), most);
    for (std::size_t picked = 0; picked < count; ++picked) {
        const std::size_t i = count > 1 ? picked * (curve.size() - 1) / (count - 1) : 0;
        const std::size_t first = i - std::min(reach, i);
        const std::size_t end = std::min(i + reach + 1, curve.size());
        result.push_back({curve[i].x, fitted(std::span(curve).subspan(first, end - first), i - first)});
    }
    return result;
}

Frame frame_of(const Chart& chart) {
    if (!chart.is_wide) return {};
    return {.width = 980, .height = 360, .right = 968, .bottom = 316};
}

Scale y_scale_of(const Chart& chart) {
    const Span span = span_of(chart, &Point::y);
    const bool would_help = span.low > 0 && span.high > log_factor * span.low;
    return chart.may_be_log && would_help ? Scale::log : Scale::linear;
}

std::string coordinates(const Curve& curve, const Axis& x, const Axis& y, const Frame& frame) {
    std::string text;
    for (const Point& point : curve) {
        text += fmt::format("{}{:.1f},{:.1f}", text.empty() ? "" : " ", across(x, frame, point.x),
                            down(y, frame, point.y));
    }
    return text;
}

std::string svg_chart(const Chart& chart) {
    if (is_empty(chart)) return "";
    const Frame frame = frame_of(chart);
    const Axis x = x_axis(chart);
    const Axis y = y_axis(chart);
    std::string svg = fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">\n", frame.width,
                                  frame.height, escaped(chart.title));
    svg += draw_y_axis(chart, y, frame) + draw_x_axis(x, frame);
    svg += draw_events(chart, x, frame);
    for (const Series& series : chart.series) {
        if (!series.curve.empty()) svg += draw(series, x, y, frame);
    }
    const std::string title = element("figcaption", escaped(chart.title));
    return element("figure", title + legend(chart) + svg + "</svg>\n", chart.is_wide ? "wide" : "");
}

std::string svg_bars(const std::string& title, const std::vector<Bar>& bars) {
    const double longest = longest_of(bars);
    if (longest <= 0) return "";
    const double left = left_of(bars);
    const double height = pitch * static_cast<double>(bars.size());
    std::string svg = fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">\n", width, height,
                                  escaped(title));
    double top = (pitch - bar_height) / 2;
    for (const Bar& bar : bars) {
        svg += draw(bar, top, left, (width - left) / longest);
        top += pitch;
    }
    return element("figure", element("figcaption", escaped(title)) + svg + "</svg>\n" + legend(bars), "wide");
}

}  // namespace trireme::report
