// Options by the type of their values: functions that parse, check, format and describe values.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/options/option.hpp"

namespace trireme::app {

// The value type of a field, which is T for a field of type T or std::optional<T>. get() returns the value of a
// field, or nullopt if the field is unset.
template <class Field>
struct FieldValue {
    using Type = Field;
    static std::optional<Type> get(const Field& field) { return field; }
};
template <class Value>
struct FieldValue<std::optional<Value>> {
    using Type = Value;
    static std::optional<Type> get(const std::optional<Value>& field) { return field; }
};

// The numbers from `low` to `high`. Each end may be excluded.
struct Range {
    double low = 0;
    double high = std::numeric_limits<double>::infinity();
    bool excludes_low = false;
    bool excludes_high = false;
};
constexpr Range make_range_from(double low) { return {.low = low}; }
constexpr Range make_range_above(double low) { return {.low = low, .excludes_low = true}; }
constexpr Range make_range_between(double low, double high) {
    return {.low = low, .high = high, .excludes_low = true, .excludes_high = true};
}
constexpr Range make_range_from_to_below(double low, double high) {
    return {.low = low, .high = high, .excludes_high = true};
}

// The parse functions throw ConfigError if the value of `setting` does not have the expected form or range.
std::uint64_t parse_integer(const Setting& setting, std::uint64_t min, std::uint64_t max);
double parse_number(const Setting& setting, const Range& range);
std::string format_number(double value);  // the shortest text that parses to the same value
std::size_t parse_choice(const Setting& setting, const std::vector<std::string>& words);  // index of the word
std::vector<std::size_t> parse_choices(const Setting& setting, const std::vector<std::string>& words);
// Splits at each `mark`; returns at least one text.
std::vector<std::string> split_text(const std::string& text, char mark);
std::string join_choices(const std::vector<std::string>& words);  // for example "adamw|sgd"

template <class Field>
Option make_integer_option(OptionDescription description, Field& field, std::uint64_t min = 0) {
    using Value = typename FieldValue<Field>::Type;
    constexpr auto max = static_cast<std::uint64_t>(std::numeric_limits<Value>::max());
    if (description.value_format.empty()) description.value_format = "N";
    const auto set = [&field, min, max](const Setting& setting) {
        field = static_cast<Value>(parse_integer(setting, min, max));
    };
    const auto get = [&field] {
        const auto value = FieldValue<Field>::get(field);
        return value ? std::to_string(*value) : std::string();
    };
    return {.description = std::move(description), .set = set, .get = get};
}

template <class Field>
Option make_number_option(OptionDescription description, Field& field, Range range) {
    if (description.value_format.empty()) description.value_format = "X";
    const auto set = [&field, range](const Setting& setting) { field = parse_number(setting, range); };
    const auto get = [&field] {
        const std::optional<double> value = FieldValue<Field>::get(field);
        return value ? format_number(*value) : std::string();
    };
    return {.description = std::move(description), .set = set, .get = get};
}

// An option with values such as 80GiB, 5GB, 500MB, 20kB, or a plain number of bytes. `min` is the minimum of
// the number before the unit.
Option make_size_option(OptionDescription description, std::uint64_t& field, std::uint64_t min = 1);
// An option with durations such as 3h50m; the field is in seconds.
Option make_duration_option(OptionDescription description, double& seconds);
// An option whose value may be omitted: --quiet, --quiet=on or --quiet=off.
Option make_switch_option(OptionDescription description, bool& field);
Option make_text_option(OptionDescription description, std::string& field);

}  // namespace trireme::app
