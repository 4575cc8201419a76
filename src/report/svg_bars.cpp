#include "report/svg_bars.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "report/html.hpp"

namespace trireme::report {
namespace {

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

// Each name once; with its value where it has only one.
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
