#include "chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

namespace trireme::studies {
namespace {

// The size of the image and its four margins, in pixels.
constexpr double width = 760, height = 420, left = 84, right = 190, top = 44, bottom = 52;
constexpr std::array colours = {"#1f6fb2", "#c8501e", "#2e8b57", "#7b3fa0", "#b8860b", "#555555", "#c2185b"};

std::string escaped(const std::string& text) {
    std::string safe;
    for (const char c : text) safe += c == '<' ? "&lt;" : c == '&' ? "&amp;" : std::string(1, c);
    return safe;
}

// Maps values to pixels: x logarithmically, y linearly from zero.
class Scale {
public:
    explicit Scale(const Lines& lines) {
        for (const auto& [name, points] : lines) {
            for (const auto& [x, y] : points) {
                xs_.insert(x);
                max_ = std::max(max_, y);
            }
        }
        const double decade = std::pow(10, std::floor(std::log10(max_ > 0 ? max_ : 1)));
        for (const double step : {0.2, 0.5, 1.0, 2.0}) {
            step_ = step * decade;
            if (max_ / step_ <= 6) break;
        }
        highest_ = step_ * std::ceil(max_ / step_);
    }

    double x(double value) const {
        const double span = std::log(*xs_.rbegin() / *xs_.begin());
        const double fraction = span > 0 ? std::log(value / *xs_.begin()) / span : 0.5;
        return left + fraction * (width - left - right);
    }
    double y(double value) const { return height - bottom - value / highest_ * (height - top - bottom); }

    const std::set<double>& xs() const { return xs_; }
    double step() const { return step_; }
    double highest() const { return highest_; }

private:
    std::set<double> xs_;
    double max_ = 0;      // of the y values
    double step_ = 1;     // from one tick of the y axis to the next
    double highest_ = 1;  // the highest tick
};

std::string axes(const Scale& scale, const std::string& x_name, const std::string& y_name) {
    std::string svg;
    for (int tick = 0; tick * scale.step() <= scale.highest() * 1.0001; ++tick) {
        const double y = scale.y(tick * scale.step());
        svg += fmt::format(
            "<line x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#ddd\"/><text x=\"{}\" "
            "y=\"{:.1f}\" "
            "text-anchor=\"end\">{:.4g}</text>\n",
            left, width - right, y, y, left - 8, y + 4, tick * scale.step());
    }
    for (const double x : scale.xs()) {
        svg += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{:g}</text>\n", scale.x(x),
                           height - bottom + 20, x);
    }
    return svg + fmt::format(
                     "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text><text x=\"16\" y=\"{}\" "
                     "text-anchor=\"middle\" transform=\"rotate(-90 16 {})\">{}</text>\n",
                     (left + width - right) / 2, height - 10, escaped(x_name), height / 2, height / 2,
                     escaped(y_name));
}

// Returns the SVG of one line of a chart, with a dot at each point.
std::string drawn(const Scale& scale, const std::vector<std::pair<double, double>>& points,
                  const char* colour) {
    std::string line, dots;
    for (const auto& [x, y] : points) {
        line += fmt::format("{:.1f},{:.1f} ", scale.x(x), scale.y(y));
        dots += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\" fill=\"{}\"/>", scale.x(x),
                            scale.y(y), colour);
    }
    return fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>{}\n", line,
                       colour, dots);
}

}  // namespace

std::string draw_svg(const std::string& title, const std::string& x_name, const std::string& y_name,
                     const Lines& lines) {
    const Scale scale(lines);
    std::string svg = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
        "font-family=\"sans-serif\" font-size=\"13\"><rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n"
        "<text x=\"{2}\" y=\"24\" font-size=\"16\">{3}</text>\n",
        width, height, left, escaped(title));
    if (!scale.xs().empty()) svg += axes(scale, x_name, y_name);
    std::size_t number = 0;
    for (const auto& [name, points] : lines) {
        const char* const colour = colours[number % colours.size()];
        svg += drawn(scale, points, colour);
        svg += fmt::format("<text x=\"{}\" y=\"{}\" fill=\"{}\">{}</text>\n", width - right + 14,
                           top + 20 * static_cast<double>(++number), colour, escaped(name));
    }
    return svg + "</svg>\n";
}

}  // namespace trireme::studies
