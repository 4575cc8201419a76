// Formatting and parsing of numbers for people: counts, bytes, lists, durations. Also the median.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace trireme {

// Numbers as text for people.
std::string with_commas(std::uint64_t number);                    // 1,234,567
std::string bytes_text(std::uint64_t bytes);                      // "28.7 GB"; below 1 GB "7.2 MB"
std::string counted(std::uint64_t count, std::string_view noun);  // "1 rank", "1,024 ranks", "2 micro-batches"

// Returns "0-3,8" for ascending numbers; three or more consecutive ones become a range. Empty if there are no
// numbers.
std::string number_list(std::span<const int> numbers);

// Returns the seconds of "3h50m", "1d", "90s" or "90". Units come in the order d, h, m, s, each at most once.
// Empty if the text has another form.
std::optional<double> seconds_in(std::string_view text);

// Returns "3h50m" for 13,800. seconds_in() reads the text back as the same whole number of seconds.
std::string duration_text(double seconds);

// Returns the median of at least one value; the upper median if their number is even.
inline double median_of(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

}  // namespace trireme
