#include "app/options/option.hpp"

#include <utility>

#include "trireme/base/error.hpp"
#include "trireme/base/message_text.hpp"

namespace trireme::app {

std::string describe_setting(const Setting& setting) {
    return setting.source.empty() ? cat("--", setting.name)
                                  : cat(setting.source, ": ", make_printable(setting.name));
}

void refuse(const Setting& setting, const std::string& expectation, const std::string& hint) {
    throw ConfigError(
        cat(describe_setting(setting), " expects ", expectation, ", not ", quote_text(setting.value), hint));
}

Option make_conditional(Option option, std::function<bool()> has_effect, OptionNeed need) {
    option.default_text = option.get();
    option.has_effect = std::move(has_effect);
    option.need = std::move(need);
    return option;
}

std::vector<std::string> list_names(const std::vector<OptionGroup>& groups) {
    std::vector<std::string> all;
    for (const OptionGroup& group : groups) {
        for (const Option& option : group.options) all.push_back(option.description.name);
    }
    return all;
}

const Option* find_option(const std::vector<OptionGroup>& groups, const std::string& name) {
    for (const OptionGroup& group : groups) {
        for (const Option& option : group.options) {
            if (option.description.name == name) return &option;
        }
    }
    return nullptr;
}

void check_needs(const std::vector<OptionGroup>& groups) {
    for (const OptionGroup& group : groups) {
        for (const Option& option : group.options) {
            if (!option.has_effect || option.has_effect() || option.get() == option.default_text) continue;
            throw ConfigError(describe_no_effect("--" + option.description.name, option.need));
        }
    }
}

}  // namespace trireme::app
