#include "trireme/base/progress.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <utility>

#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"

namespace trireme {
namespace {

// A rate below 10 is printed with two decimals, a larger one as a whole number.
std::string format_rate(double rate) {
    if (rate >= 10) return format_with_commas(static_cast<std::uint64_t>(std::llround(rate)));
    const auto hundredths = static_cast<std::uint64_t>(std::llround(100 * rate));
    const std::string digits = std::to_string(hundredths % 100);
    return cat(hundredths / 100, ".", digits.size() < 2 ? "0" : "", digits);
}

std::string format_rounded(double count) {
    return format_with_commas(static_cast<std::uint64_t>(std::llround(count)));
}

}  // namespace

std::string describe_progress(const std::string& operation, const std::string& unit, double done, double total,
                              double seconds) {
    std::string text = cat(operation, ": ", format_rounded(done));
    const bool is_percentage = unit == "%";
    if (total > 0 && !is_percentage) text += cat(" of ", format_rounded(std::max(done, total)));
    text += " " + unit;
    if (done <= 0 || seconds <= 0) return text;
    const double rate = done / seconds;
    if (!is_percentage) text += cat(", ", format_rate(rate), " ", unit, "/s");
    if (total > 0) text += cat(", ", format_duration(std::ceil(std::max(0.0, total - done) / rate)), " left");
    return text;
}

Progress::Progress(std::string operation, std::string unit, double total, bool is_quiet)
    : operation_(std::move(operation)),
      unit_(std::move(unit)),
      total_(total),
      is_shown_(!is_quiet && isatty(STDERR_FILENO) == 1) {}

void Progress::finish() {
    if (line_width_ > 0) std::cerr << '\r' << std::string(line_width_, ' ') << '\r' << std::flush;
    line_width_ = 0;
    is_shown_ = false;
}

void Progress::advance_to(double done, double total) {
    done_ = done;
    total_ = total;
    const Clock::time_point now = Clock::now();
    if (!is_shown_ || now < next_update_) return;
    next_update_ = now + std::chrono::milliseconds(500);
    const double seconds = std::chrono::duration<double>(now - begin_time_).count();
    const std::string line = describe_progress(operation_, unit_, done_, total_, seconds);
    const std::size_t blanks = line_width_ > line.size() ? line_width_ - line.size() : 0;
    std::cerr << '\r' << line << std::string(blanks, ' ') << std::flush;
    line_width_ = line.size();
}

}  // namespace trireme
