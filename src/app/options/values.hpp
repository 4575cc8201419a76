// The types of option values: how each is read, checked, printed and described.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/options/option.hpp"
#include "trireme/base/named_values.hpp"

namespace trireme::app {

// A field is of type T or std::optional<T>; an empty one is printed as nothing.
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

// Values from `low` to `high`; an end may be open.
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
std::size_t read_choice(const Setting& setting, const std::vector<std::string>& words);  // its index
std::vector<std::size_t> read_choices(const Setting& setting, const std::vector<std::string>& words);
std::vector<std::string> parts_of(const std::string& text, char mark);  // what it parts; at least one
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

// A word that an option takes, the value that it stands for, and its meaning for help.
template <class Value>
struct Choice {
    std::string word;
    Value value;
    std::string meaning = {};
};

// Adds the words to what help prints, and returns them.
template <class Value>
std::vector<std::string> describe_choices(OptionWords& words, const std::vector<Choice<Value>>& values) {
    std::vector<std::string> known;
    for (const Choice<Value>& each : values) {
        known.push_back(each.word);
        if (!each.meaning.empty()) words.values.emplace_back(each.word, each.meaning);
    }
    words.form = joined_choice(known);
    return known;
}

// If several words have equal values, the first one is printed.
template <class Field>
Option choice(OptionWords words, Field& field, std::vector<Choice<typename Content<Field>::Type>> values) {
    const std::vector<std::string> known = describe_choices(words, values);
    const auto set = [&field, known, values](const Setting& setting) {
        field = values[read_choice(setting, known)].value;
    };
    const auto get = [&field, values] {
        for (const auto& each : values) {
            if (Content<Field>::of(field) == each.value) return each.word;
        }
        return std::string();
    };
    return {.words = std::move(words), .set = set, .get = get};
}

// A choice among the values of a table.
template <class Field, std::size_t count>
Option named_choice(OptionWords words, Field& field,
                    const NamedValue<typename Content<Field>::Type> (&table)[count]) {
    std::vector<Choice<typename Content<Field>::Type>> values;
    for (const auto& [word, value, meaning] : table) values.push_back({word, value, meaning});
    return choice(std::move(words), field, std::move(values));
}

// One word or several, separated by commas.
template <class Value>
Option choices(OptionWords words, std::vector<Value>& field, std::vector<Choice<Value>> values) {
    const std::vector<std::string> known = describe_choices(words, values);
    words.form += "[,...]";
    const auto set = [&field, known, values](const Setting& setting) {
        field.clear();
        for (const std::size_t index : read_choices(setting, known)) field.push_back(values[index].value);
    };
    const auto get = [&field, values] {
        std::string text;
        for (const Value& each : field) {
            for (const Choice<Value>& known_value : values) {
                if (each == known_value.value) text += (text.empty() ? "" : ",") + known_value.word;
            }
        }
        return text;
    };
    return {.words = std::move(words), .set = set, .get = get};
}

template <class Field>
Option on_off(OptionWords words, Field& field) {
    return choice(std::move(words), field, {{"on", true}, {"off", false}});
}

// 80GiB, 5GB, 500MB, 20kB, or a plain number
Option size_in_bytes(OptionWords words, std::uint64_t& field, std::uint64_t least = 1);
// 3h50m, in seconds
Option duration(OptionWords words, double& seconds);
Option flag(OptionWords words, bool& field);  // on where it is named; --quiet=off takes it back
Option text(OptionWords words, std::string& field);

}  // namespace trireme::app
