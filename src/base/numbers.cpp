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
constexpr std::int64_t most_of_a_unit = 1'000'000;

}  // namespace

std::string with_commas(std::uint64_t number) {
    std::string digits = std::to_string(number);
    for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3) {
        digits.insert(static_cast<std::size_t>(at), 1, ',');
    }
    return digits;
}

std::string bytes_text(std::uint64_t bytes) {
    const auto number = static_cast<double>(bytes);
    return number < 1e9 ? fmt::format("{:.1f} MB", number * 1e-6) : fmt::format("{:.1f} GB", number * 1e-9);
}

std::string counted(std::uint64_t count, std::string_view noun) {
    std::string text = with_commas(count) + " " + std::string(noun);
    if (count != 1) text += noun.ends_with("ch") ? "es" : "s";
    return text;
}

std::string number_list(std::span<const int> numbers) {
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

std::optional<double> seconds_in(std::string_view text) {
    std::int64_t seconds = 0;
    if (text.empty()) return std::nullopt;
    for (std::size_t next = 0; !text.empty();) {
        std::int64_t count = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
        if (error != std::errc() || count < 0 || count > most_of_a_unit) return std::nullopt;
        text.remove_prefix(static_cast<std::size_t>(end - text.data()));
        if (text.empty() && next > 0) return std::nullopt;  // "3h50" lacks a unit
        const char letter = text.empty() ? 's' : text.front();
        while (next < units.size() && units[next].letter != letter) ++next;
        if (next == units.size()) return std::nullopt;
        seconds += count * units[next++].seconds;
        if (!text.empty()) text.remove_prefix(1);
    }
    return static_cast<double>(seconds);
}

std::string duration_text(double seconds) {
    auto left = static_cast<std::int64_t>(std::llround(seconds));
    std::string text;
    for (const Unit& unit : units) {
        if (left >= unit.seconds) text += std::to_string(left / unit.seconds) + unit.letter;
        left %= unit.seconds;
    }
    return text.empty() ? "0s" : text;
}

}  // namespace trireme
