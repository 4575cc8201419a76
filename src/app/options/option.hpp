// An option: its description, and the field of a configuration that it sets.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "trireme/base/message_text.hpp"

namespace trireme::app {

// A value of an option, as the user wrote it, and where it was written.
struct Setting {
    std::string name;  // for example "batch"
    std::string value;
    std::string source;  // for example "base.ini, line 3"; empty for the command line
};

// Returns the option and its place for messages: for example "--batch", or "base.ini, line 3: batch".
std::string describe_setting(const Setting& setting);

// Throws a ConfigError such as "--batch expects <expectation>, not '<value>'<hint>".
[[noreturn]] void refuse(const Setting& setting, const std::string& expectation, const std::string& hint = "");

// A value with its meaning, for example {"pack", "concatenate the samples of a micro-batch"}.
using ValueMeaning = std::pair<std::string, std::string>;

// The description of an option, from which help makes, for example, "--batch N   samples per step over all
// replicas (default 8)".
struct OptionDescription {
    std::string name;
    std::string value_format;  // "N", "FILE", "adamw|sgd"; if empty, the make_..._option() functions set it
    std::string meaning;       // a noun or verb phrase with its unit
    std::vector<ValueMeaning> values =
        {};  // in the order of `value_format`; values without a meaning are omitted
};

// `set` and `get` refer to the configuration that the option was made for. The configuration must outlive the
// option.
struct Option {
    OptionDescription description;
    std::function<void(const Setting&)> set;  // throws ConfigError
    std::function<std::string()> get;         // returns the value in the form that `set` parses; "" if unset
    bool is_switch = false;  // true if the option may be written without a value, which means "on"
    // For repeatable options: if one config file, or the command line, has several settings of this option,
    // `set` applies the first of them, and `add` each later one. Empty for other options.
    std::function<void(const Setting&)> add = {};
    // Returns true if the option has an effect together with the other options. Empty if it always has an
    // effect.
    std::function<bool()> has_effect = {};
    OptionNeed need = {};           // describes `has_effect` for messages
    std::string default_text = {};  // result of `get` before the first `set`; empty without `has_effect`
};

// Returns `option` with a condition for its effect. The configuration that `option` sets must still have the
// default values.
Option make_conditional(Option option, std::function<bool()> has_effect, OptionNeed need);

// The options of one section of a config file and of --help.
struct OptionGroup {
    std::string name;  // the section of a config file
    std::vector<Option> options;
};

std::vector<std::string> list_names(const std::vector<OptionGroup>& groups);  // names of all options
const Option* find_option(const std::vector<OptionGroup>& groups,
                          const std::string& name);  // null if there is no such option

// Throws ConfigError if an option without effect differs from its default. Values are compared because a config
// file may list every option, even those without effect.
void check_needs(const std::vector<OptionGroup>& groups);

}  // namespace trireme::app
