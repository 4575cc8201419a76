// The axis of a chart: its span, its ticks, and the positions of values on it.
#pragma once

#include <string>
#include <vector>

namespace trireme::report {

struct Span {
    double low = 0;
    double high = 1;
};

enum class Scale { linear, log };

// Returns the smallest step with at most `most` (>= 2) ticks in the span; it is 1, 2 or 5 times a power of ten.
double tick_step(Span span, int most);
std::vector<double> linear_ticks(Span span, double step);  // the multiples of the step within the span

// Returns 1, 2 and 5 times the powers of ten within a span above 0. A span below 1.5 decades gets more ticks;
// one above 4 decades gets only powers of ten.
std::vector<double> log_ticks(Span span);

class Axis {
public:
    // `whole_ticks` extends a linear span to the next tick on either side, and a log span by a tenth. A span
    // of length 0 is widened.
    Axis(Span span, Scale scale, int most_ticks, bool whole_ticks);

    const std::vector<double>& ticks() const { return ticks_; }
    std::string label(double tick) const;  // with as many decimals as the ticks need: "0.25", "12,000", "5e-5"
    double place(double value) const;      // position from 0 at the low end to 1 at the high end

private:
    Span span_;
    Scale scale_;
    std::vector<double> ticks_;
    int decimals_ = 0;
};

}  // namespace trireme::report
