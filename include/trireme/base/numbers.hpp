// Numbers as people read and write them: counts, bytes, lists, spans of time; and their median.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace trireme {

// Numbers as people read them.
std::string with_commas(std::uint64_t number);                    // 1,234,567
std::string bytes_text(std::uint64_t bytes);                      // "28.7 GB"; below 1 GB "7.2 MB"
std::string counted(std::uint64_t count, std::string_view noun);  // "1 rank", "1,024 ranks", "2 micro-batches"

// "0-3,8" of numbers that ascend: three or more neighbours in a row are a run. Empty for none.
std::string number_list(std::span<const int> numbers);

// "3h50m", "1d", "90s", "90": units in the order d, h, m, s, each once; nothing of other texts.
std::optional<double> seconds_in(std::string_view text);

// "3h50m" for 13,800; reads back as the same whole number of seconds.
std::string duration_text(double seconds);

// Returns the median of at least one value; the upper one of an even number of them.
inline double median_of(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

}  // namespace trireme
