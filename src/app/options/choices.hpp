// Options whose value is one word of a list, or several.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/options/values.hpp"
#include "trireme/base/named_values.hpp"

namespace trireme::app {

// A word that an option accepts, its value, and its meaning for help.
template <class Value>
struct Choice {
    std::string word;
    Value value;
    std::string meaning = {};
};

// Adds the words to the help of the option, and returns them.
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

// An option that takes one word. If several words have equal values, the first one is printed.
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

template <class Value, std::size_t count>
std::vector<Choice<Value>> list_choices(const NamedValue<Value> (&table)[count]) {
    std::vector<Choice<Value>> values;
    for (const auto& [word, value, meaning] : table) values.push_back({word, value, meaning});
    return values;
}

// An option that takes one value of a table.
template <class Field, std::size_t count>
Option named_choice(OptionWords words, Field& field,
                    const NamedValue<typename Content<Field>::Type> (&table)[count]) {
    return choice(std::move(words), field, list_choices(table));
}

// An option that takes one or several words, separated by commas.
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

// An option that takes one or several values of a table, separated by commas.
template <class Value, std::size_t count>
Option named_choices(OptionWords words, std::vector<Value>& field, const NamedValue<Value> (&table)[count]) {
    return choices(std::move(words), field, list_choices(table));
}

}  // namespace trireme::app
