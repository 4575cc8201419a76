// A progress line on the terminal for long operations.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace trireme {

// Returns "convert: 1,234 of 2,000 MB, 310 MB/s, 3s left" for the operation "convert" and the unit "MB". `done`
// and `total` are in the unit `unit`. `seconds` is the time since the operation began. A `total` of 0 means
// that the total is unknown; the text is then "convert: 1,234 MB, 310 MB/s". With the unit "%", the text is
// "step 1: 35 %, 7s left".
std::string describe_progress(const std::string& operation, const std::string& unit, double done, double total,
                              double seconds);

// Writes a progress line to standard error if standard error is a terminal. advance() and advance_to() write
// the line, at most twice a second, but not in the first two seconds after construction. finish() and the
// destructor remove the line.
class Progress {
public:
    // A `total` of 0 means that the total is unknown. If `is_quiet`, no line is written.
    Progress(std::string operation, std::string unit, double total, bool is_quiet);
    ~Progress() { finish(); }
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    void advance(double amount = 1) { advance_to(done_ + amount, total_); }
    void advance_to(double done) { advance_to(done, total_); }
    void advance_to(double done, double total);
    void finish();  // removes the line, so that other output can follow it

private:
    using Clock = std::chrono::steady_clock;

    std::string operation_, unit_;
    double done_ = 0;
    double total_;
    bool is_shown_;  // false if quiet, if standard error is no terminal, or after finish()
    Clock::time_point begin_time_ = Clock::now();
    Clock::time_point next_update_ = begin_time_ + std::chrono::seconds(2);
    std::size_t line_width_ = 0;  // characters of the line on the terminal
};

}  // namespace trireme
