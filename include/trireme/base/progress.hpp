// A progress line on the terminal for long operations.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace trireme {

// Returns "convert: 1,234 of 2,000 MB, 310 MB/s, 3 s left". Without a total it is "convert: 1,234 MB, 310
// MB/s"; in the unit %, "step 1: 35 %, 7 s left".
std::string describe_progress(const std::string& what, const std::string& unit, double done, double total,
                              double seconds);

// Writes to standard error if that is a terminal: first after two seconds, then twice a second. The line
// disappears at the end. Operations that end sooner show nothing.
class Progress {
public:
    // `unit` follows the counts: "MB". A `total` of 0 means that it is unknown.
    Progress(std::string what, std::string unit, double total, bool is_quiet);
    ~Progress() { finish(); }
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    void advance(double by = 1) { advance_to(done_ + by, total_); }
    void advance_to(double done) { advance_to(done, total_); }
    void advance_to(double done, double total);
    void finish();  // removes the line, so that other output can follow

private:
    using Clock = std::chrono::steady_clock;

    std::string what_, unit_;
    double done_ = 0;
    double total_;
    bool is_shown_;  // false if standard error is no terminal, or if the user wants no progress
    Clock::time_point begin_ = Clock::now();
    Clock::time_point next_ = begin_ + std::chrono::seconds(2);
    std::size_t width_ = 0;  // characters of the line on the terminal
};

}  // namespace trireme
