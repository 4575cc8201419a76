// Formatting and parsing of numbers for people (counts, bytes, lists, durations), rounding and the median.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace trireme {

std::string format_with_commas(std::uint64_t number);  // 1,234,567
std::string format_bytes(std::uint64_t bytes);         // "28.7 GB"; below 1 GB "7.2 MB"
// Returns a text such as "1 rank", "1,024 ranks" or "2 micro-batches"; `noun` is in the singular.
std::string format_count(std::uint64_t count, std::string_view noun);

// Returns "0-3,8" for the ascending numbers 0, 1, 2, 3, 8: three or more consecutive numbers become a range.
// Returns an empty text if there are no numbers.
std::string format_ranges(std::span<const int> numbers);

// Parses a duration such as "3h50m", "1d", "90s" or "90" and returns its seconds. Units come in the order d, h,
// m, s, each at most once. Returns nullopt if the text has another form.
std::optional<double> parse_duration(std::string_view text);

// Returns "3h50m" for 13,800 seconds. Rounds to whole seconds, which parse_duration() recovers exactly.
std::string format_duration(double seconds);

// Memory is allocated in whole cache lines. Returns `bytes`, rounded up to a multiple of the size of a line.
inline constexpr std::size_t cache_line_bytes = 64;
constexpr std::size_t round_up_to_cache_lines(std::size_t bytes) {
    return (bytes + cache_line_bytes - 1) / cache_line_bytes * cache_line_bytes;
}

// Returns the median of `values`. If the number of values is even, returns the larger of the two middle values.
// The caller ensures that there is at least one value.
inline double compute_median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

}  // namespace trireme
