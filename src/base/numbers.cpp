#include "trireme/base/numbers.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>

namespace trireme {
namespace {

struct Unit {
    char letter;
    std::int64_t seconds;
};
constexpr std::array<Unit, 4> units{Unit{'d', 86400}, Unit{'h', 3600}, Unit{'m', 60}, Unit{'s', 1}};
constexpr std::int64_t max_unit_count = 1'000'000;  // the largest number before a unit of a duration

}  // namespace

std::string format_with_commas(std::uint64_t number) {
    std::string digits = std::to_string(number);
    for (auto position = static_cast<std::ptrdiff_t>(digits.size()) - 3; position > 0; position -= 3) {
        digits.insert(static_cast<std::size_t>(position), 1, ',');
    }
    return digits;
}

std::string format_bytes(std::uint64_t bytes) {
    const auto value = static_cast<double>(bytes);
    return value < 1e9 ? fmt::format("{:.1f} MB", value * 1e-6) : fmt::format("{:.1f} GB", value * 1e-9);
}

std::string format_count(std::uint64_t count, std::string_view noun) {
    std::string text = format_with_commas(count) + " " + std::string(noun);
    if (count != 1) text += noun.ends_with("ch") ? "es" : "s";
    return text;
}

std::string format_ranges(std::span<const int> numbers) {
    std::string text;
    for (std::size_t first = 0; first < numbers.size();) {
        std::size_t last = first;
        while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
        if (last < first + 2) last = first;  // "0,1", not "0-1"
        if (first > 0) text += ',';
        text += std::to_string(numbers[first]);
        if (last > first) text += '-' + std::to_string(numbers[last]);
        first = last + 1;
    }
    return text;
}

std::optional<double> parse_duration(std::string_view text) {
    std::int64_t seconds = 0;
    if (text.empty()) return std::nullopt;
    for (std::size_t next_unit = 0; !text.empty();) {
        std::int64_t count = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
        if (error != std::errc() || count < 0 || count > max_unit_count) return std::nullopt;
        text.remove_prefix(static_cast<std::size_t>(end - text.data()));
        if (text.empty() && next_unit > 0) return std::nullopt;  // "3h50" lacks a unit
        const char letter = text.empty() ? 's' : text.front();
        while (next_unit < units.size() && units[next_unit].letter != letter) ++next_unit;
        if (next_unit == units.size()) return std::nullopt;
        seconds += count * units[next_unit++].seconds;
        if (!text.empty()) text.remove_prefix(1);
    }
    return static_cast<double>(seconds);
}

std::string format_duration(double seconds) {
    auto remaining = static_cast<std::int64_t>(std::llround(seconds));
    std::string text;
    for (const Unit& unit : units) {
        if (remaining >= unit.seconds) text += std::to_string(remaining / unit.seconds) + unit.letter;
        remaining %= unit.seconds;
    }
    return text.empty() ? "0s" : text;
}

}  // namespace trireme
