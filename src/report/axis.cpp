#include "report/axis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/html.hpp"

namespace trireme::report {
namespace {

constexpr double slack = 1e-9;    // tolerated rounding, in tick steps; 0.30000000000000004 counts as 0.3
constexpr double max_powers = 8;  // maximum number of powers of ten with ticks

Span widen_if_empty(Span span, Scale scale) {
    if (span.high > span.low) return span;
    if (scale == Scale::log) return {span.low / 2, span.low * 2};
    const double half = span.low == 0 ? 0.5 : std::abs(span.low) / 2;
    return {span.low - half, span.low + half};
}

Span extend_to_ticks(Span span, double step) {
    return {std::floor(span.low / step + slack) * step, std::ceil(span.high / step - slack) * step};
}

std::vector<double> choose_tick_factors(Span span) {
    const double decades = std::log10(span.high / span.low);
    if (decades > 4) return {1};
    if (decades > 1.5) return {1, 2, 5};
    return {1, 1.5, 2, 3, 5, 7};
}

}  // namespace

double choose_tick_step(Span span, int max_ticks) {
    const double min_step = (span.high - span.low) / (max_ticks - 1);
    const double power = std::pow(10, std::floor(std::log10(min_step)));
    for (const double factor : {1.0, 2.0, 5.0}) {
        if (factor * power >= min_step * (1 - slack)) return factor * power;
    }
    return 10 * power;
}

std::vector<double> list_linear_ticks(Span span, double step) {
    const double first = std::ceil(span.low / step - slack);
    const double count = std::floor(span.high / step + slack) - first + 1;
    std::vector<double> ticks;
    for (int i = 0; i < count; ++i) ticks.push_back((first + i) * step);
    return ticks;
}

std::vector<double> list_log_ticks(Span span) {
    std::vector<double> ticks;
    const double stride = std::max(1.0, std::ceil(std::log10(span.high / span.low) / max_powers));
    for (double exponent = std::floor(std::log10(span.low)); exponent <= std::log10(span.high);
         exponent += stride) {
        for (const double factor : choose_tick_factors(span)) {
            const double tick = factor * std::pow(10, exponent);
            if (tick >= span.low * (1 - slack) && tick <= span.high * (1 + slack)) ticks.push_back(tick);
        }
    }
    return ticks;
}

Axis::Axis(Span span, Scale scale, int max_ticks, bool extends_to_ticks)
    : span_(widen_if_empty(span, scale)), scale_(scale) {
    if (scale == Scale::log) {
        // The ticks of a log axis are too far apart to extend the span to them.
        if (extends_to_ticks) span_ = {span_.low / 1.1, span_.high * 1.1};
        ticks_ = list_log_ticks(span_);
        return;
    }
    const double step = choose_tick_step(span_, max_ticks);
    if (extends_to_ticks) span_ = extend_to_ticks(span_, step);
    ticks_ = list_linear_ticks(span_, step);
    decimals_ = std::max(0, -static_cast<int>(std::floor(std::log10(step) + slack)));
}

std::string Axis::format_label(double tick) const {
    if (std::abs(tick) < slack * (span_.high - span_.low)) return "0";
    if (decimals_ > 4 || std::abs(tick) >= 1e7 || scale_ == Scale::log) return format_significant(tick);
    return decimals_ == 0 ? format_with_commas(tick) : fmt::format("{:.{}f}", tick, decimals_);
}

double Axis::compute_position(double value) const {
    if (scale_ == Scale::log) return std::log(value / span_.low) / std::log(span_.high / span_.low);
    return (value - span_.low) / (span_.high - span_.low);
}

}  // namespace trireme::report
