#include "report/axis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/html.hpp"

namespace trireme::report {
namespace {

constexpr double slack = 1e-9;     // fraction of a step; 0.30000000000000004 lies on the tick 0.3
constexpr double most_powers = 8;  // maximum number of powers of ten with ticks

Span with_extent(Span span, Scale scale) {
    if (span.high > span.low) return span;
    if (scale == Scale::log) return {span.low / 2, span.low * 2};
    const double half = span.low == 0 ? 0.5 : std::abs(span.low) / 2;
    return {span.low - half, span.low + half};
}

Span to_whole_ticks(Span span, double step) {
    return {std::floor(span.low / step + slack) * step, std::ceil(span.high / step - slack) * step};
}

std::vector<double> factors_for(Span span) {
    const double decades = std::log10(span.high / span.low);
    if (decades > 4) return {1};
    if (decades > 1.5) return {1, 2, 5};
    return {1, 1.5, 2, 3, 5, 7};
}

}  // namespace

double tick_step(Span span, int most) {
    const double least = (span.high - span.low) / (most - 1);
    const double power = std::pow(10, std::floor(std::log10(least)));
    for (const double factor : {1.0, 2.0, 5.0}) {
        if (factor * power >= least * (1 - slack)) return factor * power;
    }
    return 10 * power;
}

std::vector<double> linear_ticks(Span span, double step) {
    const double first = std::ceil(span.low / step - slack);
    const double count = std::floor(span.high / step + slack) - first + 1;
    std::vector<double> ticks;
    for (int i = 0; i < count; ++i) ticks.push_back((first + i) * step);
    return ticks;
}

std::vector<double> log_ticks(Span span) {
    std::vector<double> ticks;
    const double stride = std::max(1.0, std::ceil(std::log10(span.high / span.low) / most_powers));
    for (double power = std::floor(std::log10(span.low)); power <= std::log10(span.high); power += stride) {
        for (const double factor : factors_for(span)) {
            const double tick = factor * std::pow(10, power);
            if (tick >= span.low * (1 - slack) && tick <= span.high * (1 + slack)) ticks.push_back(tick);
        }
    }
    return ticks;
}

Axis::Axis(Span span, Scale scale, int most_ticks, bool whole_ticks)
    : span_(with_extent(span, scale)), scale_(scale) {
    if (scale == Scale::log) {
        // The ticks of a log axis are too far apart to extend the span to them.
        if (whole_ticks) span_ = {span_.low / 1.1, span_.high * 1.1};
        ticks_ = log_ticks(span_);
        return;
    }
    const double step = tick_step(span_, most_ticks);
    if (whole_ticks) span_ = to_whole_ticks(span_, step);
    ticks_ = linear_ticks(span_, step);
    decimals_ = std::max(0, -static_cast<int>(std::floor(std::log10(step) + slack)));
}

std::string Axis::label(double tick) const {
    if (std::abs(tick) < slack * (span_.high - span_.low)) return "0";
    if (decimals_ > 4 || std::abs(tick) >= 1e7 || scale_ == Scale::log) return significant(tick);
    return decimals_ == 0 ? with_commas(tick) : fmt::format("{:.{}f}", tick, decimals_);
}

double Axis::place(double value) const {
    if (scale_ == Scale::log) return std::log(value / span_.low) / std::log(span_.high / span_.low);
    return (value - span_.low) / (span_.high - span_.low);
}

}  // namespace trireme::report
