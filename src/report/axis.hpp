// The axis of a chart: its span, its ticks, and the positions of values on it.
#pragma once

#include <string>
#include <vector>

namespace trireme::report {

// An interval of values on an axis.
struct Span {
    double low = 0;
    double high = 1;
};

enum class Scale { linear, log };

// Returns the smallest step that puts at most `max_ticks` (>= 2) ticks in the span. Steps are 1, 2 or 5 times a
// power of ten.
double choose_tick_step(Span span, int max_ticks);
std::vector<double> list_linear_ticks(Span span, double step);  // the multiples of `step` within the span

// Returns the ticks within a span of positive values: 1, 2 and 5 times the powers of ten. A span of less than
// 1.5 decades gets more ticks, and a span of more than 4 decades gets only powers of ten. A span of more than 8
// decades gets only every second, third, ... power.
std::vector<double> list_log_ticks(Span span);

class Axis {
public:
    // With `extends_to_ticks`, a linear span is extended to the next tick on either side, and a log span by a
    // factor of 1.1 on either side. A span of length 0 is widened. On a linear axis, `max_ticks` is the maximum
    // number of ticks in the span before it is extended.
    Axis(Span span, Scale scale, int max_ticks, bool extends_to_ticks);

    const std::vector<double>& ticks() const { return ticks_; }
    std::string format_label(double tick) const;  // "0.25", "12,000", "5e-5"; with the decimals that ticks need
    double compute_position(double value) const;  // 0 at the low end, 1 at the high end

private:
    Span span_;
    Scale scale_;
    std::vector<double> ticks_;
    int decimals_ = 0;  // decimals of the labels of a linear axis
};

}  // namespace trireme::report
