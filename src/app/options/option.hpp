// An option: its words, and the field of a configuration that it sets.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "trireme/base/message_text.hpp"

namespace trireme::app {

// A value as somebody gave it, and where.
struct Setting {
    std::string name;  // "batch"
    std::string value;
    std::string place;  // "base.ini, line 3"; empty: the command line
};

// How a message names the option: "--batch", or "base.ini, line 3: batch".
std::string label(const Setting& setting);

// Throws ConfigError: "--batch expects <expectation>, not '<value>'<hint>".
[[noreturn]] void refuse(const Setting& setting, const std::string& expectation, const std::string& hint = "");

// A value with its meaning: {"pack", "concatenate the samples of a micro-batch"}.
using ValueWords = std::pair<std::string, std::string>;

// The words of an option in help: "--batch N   samples per step over all replicas (default 8)".
struct OptionWords {
    std::string name;
    std::string form;                     // the value's: "N", "FILE", "adamw|sgd"; empty: derived from the type
    std::string meaning;                  // a noun or verb phrase with its unit
    std::vector<ValueWords> values = {};  // in the order of `form`; values without a meaning are omitted
};

// `set` and `get` refer to the configuration that the option was made for; it must outlive the option.
struct Option {
    OptionWords words;
    std::function<void(const Setting&)> set;  // throws ConfigError
    std::function<std::string()> get;         // in the form that `set` reads; empty: not set
    bool is_switch = false;                   // without a value it is on
    // Of one that may be given several times in one place: what the second and later times do, beside `set`.
    std::function<void(const Setting&)> add = {};
    // True if the option has an effect beside the others that are set. Unset if it always has one.
    std::function<bool()> has_effect = {};
    OptionNeed need = {};           // describes `has_effect`
    std::string default_text = {};  // of an option with `has_effect`: what `get` returned before any `set`
};

// `option` with a condition; its configuration must still hold the default values.
Option needing(Option option, std::function<bool()> has_effect, OptionNeed need);

struct OptionGroup {
    std::string name;  // the section of a config file
    std::vector<Option> options;
};

std::vector<std::string> names(const std::vector<OptionGroup>& groups);               // of all options
const Option* find(const std::vector<OptionGroup>& groups, const std::string& name);  // null: unknown

// Throws ConfigError for an option that differs from its default and has no effect. The comparison by value
// accepts a config.ini, which lists every option.
void check_needs(const std::vector<OptionGroup>& groups);

}  // namespace trireme::app
