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

// Parses the whole text as a number. Empty if it has other characters or is out of range of the type.
template <class Value>
std::optional<Value> parsed(const std::string& text) {
    Value value{};
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (text.empty() || error != std::errc() || stop != end) return std::nullopt;
    return value;
}

bool contains(const Range& range, double value) {
    const bool is_low = range.without_low ? value <= range.low : value < range.low;
    const bool is_high = range.without_high ? value >= range.high : value > range.high;
    return std::isfinite(value) && !is_low && !is_high;
}

std::string expectation(const Range& range) {
    const std::string low = print_number(range.low);
    if (std::isinf(range.high)) return cat("a number ", range.without_low ? "above " : "of at least ", low);
    const std::string high = print_number(range.high);
    if (range.without_low) return cat("a number between ", low, " and ", high, ", without these");
    return cat("a number from ", low, range.without_high ? " up to, but not including, " : " to ", high);
}

std::string joined(const std::vector<std::string>& words, const std::string& between) {
    std::string all;
    for (const std::string& word : words) all += (all.empty() ? "" : between) + word;
    return all;
}

// Reads decimal units, which disks and Hugging Face use, and binary units, which GPUs and Slurm use.
std::uint64_t read_bytes(const Setting& setting, std::uint64_t least) {
    constexpr std::array<std::pair<std::string_view, std::uint64_t>, 7> units{{{"GiB", std::uint64_t{1} << 30},
                                                                               {"MiB", std::uint64_t{1} << 20},
                                                                               {"KiB", std::uint64_t{1} << 10},
                                                                               {"GB", 1'000'000'000},
                                                                               {"MB", 1'000'000},
                                                                               {"kB", 1000},
                                                                               {"", 1}}};
    for (const auto& [unit, factor] : units) {
        if (!setting.value.ends_with(unit)) continue;
        const auto count = parsed<std::uint64_t>(setting.value.substr(0, setting.value.size() - unit.size()));
        std::uint64_t bytes = 0;
        if (count && *count >= least && !__builtin_mul_overflow(*count, factor, &bytes)) return bytes;
        break;
    }
    refuse(setting, "a number of bytes, such as 80GiB, 5GB, 500MB or 20000");
}

}  // namespace

std::uint64_t read_whole_number(const Setting& setting, std::uint64_t least, std::uint64_t most) {
    const std::optional<std::uint64_t> value = parsed<std::uint64_t>(setting.value);
    if (value && *value >= least && *value <= most) return *value;
    const bool has_digits_only = setting.value.find_first_not_of("0123456789") == std::string::npos;
    const bool is_too_large = value ? *value > most : has_digits_only && !setting.value.empty();
    refuse(setting, is_too_large ? cat("a whole number from ", least, " to ", most)
                                 : cat("a whole number of at least ", least));
}

double read_number(const Setting& setting, const Range& range) {
    const std::optional<double> value = parsed<double>(setting.value);
    if (!value || !contains(range, *value)) refuse(setting, expectation(range));
    return *value;
}

std::string print_number(double value) { return fmt::format("{}", value); }

std::size_t read_choice(const Setting& setting, const std::vector<std::string>& words) {
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (words[i] == setting.value) return i;
    }
    const std::string expected = words.size() == 1 ? words[0] : cat("one of ", joined(words, ", "));
    refuse(setting, expected, did_you_mean(setting.value, words));
}

std::vector<std::size_t> read_choices(const Setting& setting, const std::vector<std::string>& words) {
    std::vector<std::size_t> indices;
    for (const std::string& part : parts_of(setting.value, ',')) {
        indices.push_back(read_choice({setting.name, part, setting.place}, words));
    }
    return indices;
}

std::vector<std::string> parts_of(const std::string& text, char mark) {
    std::vector<std::string> parts;
    std::size_t begin = 0;
    for (std::size_t end = text.find(mark); end != std::string::npos; end = text.find(mark, begin)) {
        parts.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    parts.push_back(text.substr(begin));
    return parts;
}

std::string joined_choice(const std::vector<std::string>& words) { return joined(words, "|"); }

Option size_in_bytes(OptionWords words, std::uint64_t& field, std::uint64_t least) {
    if (words.form.empty()) words.form = "BYTES";
    const auto set = [&field, least](const Setting& setting) { field = read_bytes(setting, least); };
    return {.words = std::move(words), .set = set, .get = [&field] { return std::to_string(field); }};
}

Option duration(OptionWords words, double& seconds) {
    if (words.form.empty()) words.form = "3h50m";
    const auto set = [&seconds](const Setting& setting) {
        const std::optional<double> read = seconds_in(setting.value);
        if (!read) refuse(setting, "a span of time, such as 3h50m, 90m or 45s");
        seconds = *read;
    };
    return {.words = std::move(words), .set = set, .get = [&seconds] { return duration_text(seconds); }};
}

Option flag(OptionWords words, bool& field) {
    Option option = on_off(std::move(words), field);
    option.is_switch = true;
    return option;
}

Option text(OptionWords words, std::string& field) {
    const auto set = [&field](const Setting& setting) {
        if (setting.value.find_first_of("\r\n") != std::string::npos) refuse(setting, "one line of text");
        field = setting.value;
    };
    return {.words = std::move(words), .set = set, .get = [&field] { return field; }};
}

}  // namespace trireme::app
