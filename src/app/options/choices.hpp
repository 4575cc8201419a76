// Options whose value is one word, or several words, of a list.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/options/values.hpp"
#include "trireme/base/named_values.hpp"

namespace trireme::app {

// A word that an option accepts, the value that it sets, and its meaning for help.
template <class Value>
struct Choice {
    std::string word;
    Value value;
    std::string meaning = {};
};

// Adds the words of `values` and their meanings to the description of the option. Returns the words.
template <class Value>
std::vector<std::string> describe_choices(OptionDescription& description,
                                          const std::vector<Choice<Value>>& values) {
    std::vector<std::string> words;
    for (const Choice<Value>& each : values) {
        words.push_back(each.word);
        if (!each.meaning.empty()) description.values.emplace_back(each.word, each.meaning);
    }
    description.value_format = join_choices(words);
    return words;
}

// An option that takes one word. If several words set equal values, the first one is written to config files.
template <class Field>
Option make_choice_option(OptionDescription description, Field& field,
                          std::vector<Choice<typename FieldValue<Field>::Type>> values) {
    const std::vector<std::string> words = describe_choices(description, values);
    const auto set = [&field, words, values](const Setting& setting) {
        field = values[parse_choice(setting, words)].value;
    };
    const auto get = [&field, values] {
        for (const auto& each : values) {
            if (FieldValue<Field>::get(field) == each.value) return each.word;
        }
        return std::string();
    };
    return {.description = std::move(description), .set = set, .get = get};
}

template <class Value, std::size_t count>
std::vector<Choice<Value>> list_choices(const NamedValue<Value> (&table)[count]) {
    std::vector<Choice<Value>> values;
    for (const auto& [word, value, meaning] : table) values.push_back({word, value, meaning});
    return values;
}

// An option that takes one word of a table.
template <class Field, std::size_t count>
Option make_table_option(OptionDescription description, Field& field,
                         const NamedValue<typename FieldValue<Field>::Type> (&table)[count]) {
    return make_choice_option(std::move(description), field, list_choices(table));
}

// An option that takes one or several words, separated by commas.
template <class Value>
Option make_list_option(OptionDescription description, std::vector<Value>& field,
                        std::vector<Choice<Value>> values) {
    const std::vector<std::string> words = describe_choices(description, values);
    description.value_format += "[,...]";
    const auto set = [&field, words, values](const Setting& setting) {
        field.clear();
        for (const std::size_t index : parse_choices(setting, words)) field.push_back(values[index].value);
    };
    const auto get = [&field, values] {
        std::string text;
        for (const Value& each : field) {
            for (const Choice<Value>& choice : values) {
                if (each == choice.value) text += (text.empty() ? "" : ",") + choice.word;
            }
        }
        return text;
    };
    return {.description = std::move(description), .set = set, .get = get};
}

template <class Field>
Option make_on_off_option(OptionDescription description, Field& field) {
    return make_choice_option(std::move(description), field, {{"on", true}, {"off", false}});
}

// An option that takes one or several words of a table, separated by commas.
template <class Value, std::size_t count>
Option make_table_list_option(OptionDescription description, std::vector<Value>& field,
                              const NamedValue<Value> (&table)[count]) {
    return make_list_option(std::move(description), field, list_choices(table));
}

}  // namespace trireme::app
