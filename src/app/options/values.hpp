// The types of option values: reading, checking, printing and describing them.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/options/option.hpp"

namespace trireme::app {

// Reads a field of type T or std::optional<T>. An empty field is printed as "".
template <class Field>
struct Content {
    using Type = Field;
    static std::optional<Type> of(const Field& field) { return field; }
};
template <class Held>
struct Content<std::optional<Held>> {
    using Type = Held;
    static std::optional<Type> of(const std::optional<Held>& field) { return field; }
};

// The values from `low` to `high`. Each end may be excluded.
struct Range {
    double low = 0;
    double high = std::numeric_limits<double>::infinity();
    bool without_low = false;
    bool without_high = false;
};
constexpr Range at_least(double low) { return {.low = low}; }
constexpr Range above(double low) { return {.low = low, .without_low = true}; }
constexpr Range between(double low, double high) {
    return {.low = low, .high = high, .without_low = true, .without_high = true};
}
constexpr Range from_until(double low, double high) { return {.low = low, .high = high, .without_high = true}; }

std::uint64_t read_whole_number(const Setting& setting, std::uint64_t least, std::uint64_t most);
double read_number(const Setting& setting, const Range& range);
std::string print_number(double value);  // the shortest text that reads back as the same value
std::size_t read_choice(const Setting& setting, const std::vector<std::string>& words);  // index of the word
std::vector<std::size_t> read_choices(const Setting& setting, const std::vector<std::string>& words);
std::vector<std::string> parts_of(const std::string& text, char mark);  // splits at `mark`; at least one part
std::string joined_choice(const std::vector<std::string>& words);       // "adamw|sgd"

template <class Field>
Option whole_number(OptionWords words, Field& field, std::uint64_t least = 0) {
    using Value = typename Content<Field>::Type;
    constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<Value>::max());
    if (words.form.empty()) words.form = "N";
    const auto set = [&field, least, most](const Setting& setting) {
        field = static_cast<Value>(read_whole_number(setting, least, most));
    };
    const auto get = [&field] {
        const auto value = Content<Field>::of(field);
        return value ? std::to_string(*value) : std::string();
    };
    return {.words = std::move(words), .set = set, .get = get};
}

template <class Field>
Option number(OptionWords words, Field& field, Range range) {
    if (words.form.empty()) words.form = "X";
    const auto set = [&field, range](const Setting& setting) { field = read_number(setting, range); };
    const auto get = [&field] {
        const std::optional<double> value = Content<Field>::of(field);
        return value ? print_number(*value) : std::string();
    };
    return {.words = std::move(words), .set = set, .get = get};
}

// Reads 80GiB, 5GB, 500MB, 20kB, or a plain number of bytes.
Option size_in_bytes(OptionWords words, std::uint64_t& field, std::uint64_t least = 1);
// Reads a duration such as 3h50m into seconds.
Option duration(OptionWords words, double& seconds);
Option flag(OptionWords words, bool& field);  // a switch: --quiet, --quiet=on or --quiet=off
Option text(OptionWords words, std::string& field);

}  // namespace trireme::app
