#include "app/options/values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

#include "app/options/choices.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/message_text.hpp"
#include "trireme/base/numbers.hpp"

namespace trireme::app {
namespace {

// Parses a text as a number. Returns nullopt if the text as a whole is not a number, or if the number is out of
// the range of Value.
template <class Value>
std::optional<Value> try_parse_number(const std::string& text) {
    Value value{};
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (text.empty() || error != std::errc() || stop != end) return std::nullopt;
    return value;
}

bool contains(const Range& range, double value) {
    const bool is_below = range.excludes_low ? value <= range.low : value < range.low;
    const bool is_above = range.excludes_high ? value >= range.high : value > range.high;
    return std::isfinite(value) && !is_below && !is_above;
}

std::string describe_range(const Range& range) {
    const std::string low = format_number(range.low);
    if (std::isinf(range.high)) return cat("a number ", range.excludes_low ? "above " : "of at least ", low);
    const std::string high = format_number(range.high);
    if (range.excludes_low) return cat("a number above ", low, " and below ", high);
    return cat("a number from ", low, range.excludes_high ? " up to, but not including, " : " to ", high);
}

std::string join_words(const std::vector<std::string>& words, const std::string& separator) {
    std::string all;
    for (const std::string& word : words) all += (all.empty() ? "" : separator) + word;
    return all;
}

// Parses a size with a decimal unit, as disks and Hugging Face use, or a binary unit, as GPUs and Slurm use.
std::uint64_t parse_bytes(const Setting& setting, std::uint64_t min) {
    constexpr std::array<std::pair<std::string_view, std::uint64_t>, 7> units{{{"GiB", std::uint64_t{1} << 30},
                                                                               {"MiB", std::uint64_t{1} << 20},
                                                                               {"KiB", std::uint64_t{1} << 10},
                                                                               {"GB", 1'000'000'000},
                                                                               {"MB", 1'000'000},
                                                                               {"kB", 1000},
                                                                               {"", 1}}};
    for (const auto& [unit, factor] : units) {
        if (!setting.value.ends_with(unit)) continue;
        const auto count =
            try_parse_number<std::uint64_t>(setting.value.substr(0, setting.value.size() - unit.size()));
        std::uint64_t bytes = 0;
        if (count && *count >= min && !__builtin_mul_overflow(*count, factor, &bytes)) return bytes;
        break;
    }
    refuse(setting,
           cat(min > 0 ? "a positive number" : "a number", " of bytes, such as 80GiB, 5GB, 500MB or 20000"));
}

}  // namespace

std::uint64_t parse_integer(const Setting& setting, std::uint64_t min, std::uint64_t max) {
    const std::optional<std::uint64_t> value = try_parse_number<std::uint64_t>(setting.value);
    if (value && *value >= min && *value <= max) return *value;
    const bool has_digits_only = setting.value.find_first_not_of("0123456789") == std::string::npos;
    const bool is_too_large = value ? *value > max : has_digits_only && !setting.value.empty();
    refuse(setting, is_too_large ? cat("a whole number from ", min, " to ", max)
                                 : cat("a whole number of at least ", min));
}

double parse_number(const Setting& setting, const Range& range) {
    const std::optional<double> value = try_parse_number<double>(setting.value);
    if (!value || !contains(range, *value)) refuse(setting, describe_range(range));
    return *value;
}

std::string format_number(double value) { return fmt::format("{}", value); }

std::size_t parse_choice(const Setting& setting, const std::vector<std::string>& words) {
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (words[i] == setting.value) return i;
    }
    const std::string expected = words.size() == 1 ? words[0] : cat("one of ", join_words(words, ", "));
    refuse(setting, expected, suggest_word(setting.value, words));
}

std::vector<std::size_t> parse_choices(const Setting& setting, const std::vector<std::string>& words) {
    std::vector<std::size_t> indices;
    for (const std::string& part : split_text(setting.value, ',')) {
        indices.push_back(parse_choice({setting.name, part, setting.source}, words));
    }
    return indices;
}

std::vector<std::string> split_text(const std::string& text, char mark) {
    std::vector<std::string> parts;
    std::size_t begin = 0;
    for (std::size_t end = text.find(mark); end != std::string::npos; end = text.find(mark, begin)) {
        parts.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    parts.push_back(text.substr(begin));
    return parts;
}

std::string join_choices(const std::vector<std::string>& words) { return join_words(words, "|"); }

Option make_size_option(OptionDescription description, std::uint64_t& field, std::uint64_t min) {
    if (description.value_format.empty()) description.value_format = "BYTES";
    const auto set = [&field, min](const Setting& setting) { field = parse_bytes(setting, min); };
    return {
        .description = std::move(description), .set = set, .get = [&field] { return std::to_string(field); }};
}

Option make_duration_option(OptionDescription description, double& seconds) {
    if (description.value_format.empty()) description.value_format = "3h50m";
    const auto set = [&seconds](const Setting& setting) {
        const std::optional<double> duration = parse_duration(setting.value);
        if (!duration) refuse(setting, "a span of time, such as 3h50m, 90m or 45s");
        seconds = *duration;
    };
    return {.description = std::move(description), .set = set, .get = [&seconds] {
                return format_duration(seconds);
            }};
}

Option make_switch_option(OptionDescription description, bool& field) {
    Option option = make_on_off_option(std::move(description), field);
    option.is_switch = true;
    return option;
}

Option make_text_option(OptionDescription description, std::string& field) {
    const auto set = [&field](const Setting& setting) {
        if (setting.value.find_first_of("\r\n") != std::string::npos) refuse(setting, "one line of text");
        field = setting.value;
    };
    return {.description = std::move(description), .set = set, .get = [&field] { return field; }};
}

}  // namespace trireme::app
