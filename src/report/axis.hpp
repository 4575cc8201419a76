// An axis: what it spans, where its ticks are, and where a value lies on it.
#pragma once

#include <string>
#include <vector>

namespace trireme::report {

struct Span {
    double low = 0;
    double high = 1;
};

enum class Scale { linear, log };

// 1, 2 or 5 times a power of ten: the smallest step that puts `most` ticks (>= 2) or fewer within the span.
double tick_step(Span span, int most);
std::vector<double> linear_ticks(Span span, double step);  // the multiples of the step within the span

// 1, 2 and 5 times the powers of ten within the span, which is above 0; more of them over less than a decade
// and a half, the powers alone over more than four.
std::vector<double> log_ticks(Span span);

class Axis {
public:
    // `whole_ticks` widens a linear span to the next tick on either side, and a log one a little. A span
    // without extent gets one.
    Axis(Span span, Scale scale, int most_ticks, bool whole_ticks);

    const std::vector<double>& ticks() const { return ticks_; }
    std::string label(double tick) const;  // with as many decimals as the ticks need: "0.25", "12,000", "5e-5"
    double place(double value) const;      // 0 at the low end, 1 at the high one

private:
    Span span_;
    Scale scale_;
    std::vector<double> ticks_;
    int decimals_ = 0;
};

}  // namespace trireme::report
