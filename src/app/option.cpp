#include "app/option.hpp"

#include "trireme/base/error.hpp"
#include "trireme/base/quoted.hpp"

namespace trireme::app {

std::string label(const Setting& setting) {
    return setting.place.empty() ? cat("--", setting.name) : cat(setting.place, ": ", printable(setting.name));
}

void refuse(const Setting& setting, const std::string& expectation, const std::string& hint) {
    throw ConfigError(cat(label(setting), " expects ", expectation, ", not ", in_quotes(setting.value), hint));
}

std::vector<std::string> names(const std::vector<OptionGroup>& groups) {
    std::vector<std::string> all;
    for (const OptionGroup& group : groups) {
        for (const Option& option : group.options) all.push_back(option.words.name);
    }
    return all;
}

const Option* find(const std::vector<OptionGroup>& groups, const std::string& name) {
    for (const OptionGroup& group : groups) {
        for (const Option& option : group.options) {
            if (option.words.name == name) return &option;
        }
    }
    return nullptr;
}

}  // namespace trireme::app
