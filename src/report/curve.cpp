#include "report/curve.hpp"

#include <algorithm>
#include <span>

namespace trireme::report {
namespace {

bool is_lower(const Point& a, const Point& b) { return a.y < b.y; }

// The line of least squares through the window, at `place` in it; never beyond what the window holds.
double fitted(std::span<const Point> window, std::size_t place) {
    const auto count = static_cast<double>(window.size());
    const double middle = (count - 1) / 2;
    double mean = 0;
    for (const Point& point : window) mean += point.y / count;
    double slope = 0;
    const double squares = count * (count * count - 1) / 12;  // of the distances from the middle
    for (std::size_t i = 0; i < window.size() && squares > 0; ++i) {
        slope += (static_cast<double>(i) - middle) / squares * (window[i].y - mean);
    }
    const auto [lowest, highest] = std::minmax_element(window.begin(), window.end(), is_lower);
    return std::clamp(mean + slope * (static_cast<double>(place) - middle), lowest->y, highest->y);
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

}  // namespace trireme::report
