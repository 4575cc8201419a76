// An option: its description, and the field of a configuration that it sets.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "trireme/base/message_text.hpp"

namespace trireme::app {

// A value as the user wrote it, and where.
struct Setting {
    std::string name;  // "batch"
    std::string value;
    std::string place;  // "base.ini, line 3"; empty for the command line
};

// Returns the option's name for messages: "--batch", or "base.ini, line 3: batch".
std::string label(const Setting& setting);

// Throws ConfigError: "--batch expects <expectation>, not '<value>'<hint>".
[[noreturn]] void refuse(const Setting& setting, const std::string& expectation, const std::string& hint = "");

// A value with its meaning: {"pack", "concatenate the samples of a micro-batch"}.
using ValueWords = std::pair<std::string, std::string>;

// The description of an option in help: "--batch N   samples per step over all replicas (default 8)".
struct OptionWords {
    std::string name;
    std::string form;                     // of the value: "N", "FILE", "adamw|sgd"; if empty, set from the type
    std::string meaning;                  // a noun or verb phrase with its unit
    std::vector<ValueWords> values = {};  // in the order of `form`; values without a meaning are omitted
};

// `set` and `get` refer to the configuration that the option was made for; it must outlive the option.
struct Option {
    OptionWords words;
    std::function<void(const Setting&)> set;  // throws ConfigError
    std::function<std::string()> get;         // in the form that `set` reads; returns "" if unset
    bool is_switch = false;                   // a switch without a value is on
    // For repeatable options: applies the second and later
    // settings of one source, after `set`. Otherwise unset.
    std::function<void(const Setting&)> add = {};
    // True if the option has an effect given the other options. Unset if it always has one.
    std::function<bool()> has_effect = {};
    OptionNeed need = {};           // describes `has_effect`
    std::string default_text = {};  // result of `get` before any `set`; only with `has_effect`
};

// Adds a condition to `option`, whose configuration must still hold the default values.
Option needing(Option option, std::function<bool()> has_effect, OptionNeed need);

struct OptionGroup {
    std::string name;  // the section of a config file
    std::vector<Option> options;
};

std::vector<std::string> names(const std::vector<OptionGroup>& groups);               // of all options
const Option* find(const std::vector<OptionGroup>& groups, const std::string& name);  // null if unknown

// Throws ConfigError for an option that differs from its default and has no effect. Values are compared because
// a config.ini lists every option, also those without effect.
void check_needs(const std::vector<OptionGroup>& groups);

}  // namespace trireme::app
