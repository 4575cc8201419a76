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
std::string rate_text(double rate) {
    if (rate >= 10) return with_commas(static_cast<std::uint64_t>(std::llround(rate)));
    const auto hundredths = static_cast<std::uint64_t>(std::llround(100 * rate));
    const std::string digits = std::to_string(hundredths % 100);
    return cat(hundredths / 100, ".", digits.size() < 2 ? "0" : "", digits);
}

std::string count_text(double count) { return with_commas(static_cast<std::uint64_t>(std::llround(count))); }

}  // namespace

std::string describe_progress(const std::string& what, const std::string& unit, double done, double total,
                              double seconds) {
    std::string text = cat(what, ": ", count_text(done));
    const bool is_part = unit == "%";
    if (total > 0 && !is_part) text += cat(" of ", count_text(std::max(done, total)));
    text += " " + unit;
    if (done <= 0 || seconds <= 0) return text;
    const double rate = done / seconds;
    if (!is_part) text += cat(", ", rate_text(rate), " ", unit, "/s");
    if (total > 0) text += cat(", ", duration_text(std::ceil(std::max(0.0, total - done) / rate)), " left");
    return text;
}

Progress::Progress(std::string what, std::string unit, double total, bool is_quiet)
    : what_(std::move(what)),
      unit_(std::move(unit)),
      total_(total),
      is_shown_(!is_quiet && isatty(STDERR_FILENO) == 1) {}

void Progress::finish() {
    if (width_ > 0) std::cerr << '\r' << std::string(width_, ' ') << '\r' << std::flush;
    width_ = 0;
    is_shown_ = false;
}

void Progress::advance_to(double done, double total) {
    done_ = done;
    total_ = total;
    const Clock::time_point now = Clock::now();
    if (!is_shown_ || now < next_) return;
    next_ = now + std::chrono::milliseconds(500);
    const double seconds = std::chrono::duration<double>(now - begin_).count();
    const std::string line = describe_progress(what_, unit_, done_, total_, seconds);
    const std::size_t blanks = width_ > line.size() ? width_ - line.size() : 0;
    std::cerr << '\r' << line << std::string(blanks, ' ') << std::flush;
    width_ = line.size();
}

}  // namespace trireme
