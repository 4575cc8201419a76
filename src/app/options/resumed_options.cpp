#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "app/options/options.hpp"
#include "trireme/base/error.hpp"

namespace trireme::app {
namespace {

template <std::size_t N>
bool is_one_of(const std::array<std::string_view, N>& names, const std::string& name) {
    return std::ranges::find(names, name) != names.end();
}

// Returns true for options that a checkpoint does not save, because they apply to a single start: they say
// where and for how long the run executes, and what it emulates or simulates.
bool applies_to_one_start(const std::string& name) {
    return is_one_of<10>({"run-dir", "resume", "threads", "device", "time-limit", "dry-run", "slow", "cluster",
                          "network", "charge"},
                         name);
}

bool is_layout_option(const std::string& name) {
    return is_one_of<6>({"pipe", "data", "tensor", "layout", "partition", "chunks"}, name);
}

}  // namespace

std::vector<config::OptionValue> collect_values_to_save(const std::vector<OptionGroup>& options) {
    std::vector<config::OptionValue> values;
    for (const OptionGroup& group : options) {
        for (const Option& option : group.options) {
            const std::string& name = option.description.name;
            if (std::string value = option.get(); !value.empty() && !applies_to_one_start(name))
                values.push_back({name, std::move(value)});
        }
    }
    return values;
}

std::vector<Setting> select_saved_settings(const config::SavedOptions& saved,
                                           const std::set<std::string>& given_names,
                                           const std::vector<OptionGroup>& options) {
    const bool is_layout_given = std::ranges::any_of(given_names, is_layout_option);
    const bool is_duration_given = given_names.contains("steps") || given_names.contains("epochs");
    std::vector<Setting> settings;
    for (const auto& [name, value] : saved.values) {
        const bool is_replaced = (is_layout_given && is_layout_option(name)) ||
                                 (is_duration_given && (name == "steps" || name == "epochs"));
        if (is_replaced || applies_to_one_start(name) || find_option(options, name) == nullptr) continue;
        settings.push_back({name, value, "the options of the checkpoint"});
    }
    return settings;
}

// The loop repeats because resetting one option may remove the effect of another option.
void reset_ineffective_options(const std::set<std::string>& given_names,
                               const std::vector<OptionGroup>& options) {
    for (bool changes = true; std::exchange(changes, false);) {
        for (const OptionGroup& group : options) {
            for (const Option& option : group.options) {
                const bool has_effect = !option.has_effect || option.has_effect();
                const std::string& name = option.description.name;
                if (has_effect || given_names.contains(name) || option.get() == option.default_text) continue;
                option.set({name, option.default_text, ""});
                changes = true;
            }
        }
    }
}

std::vector<std::string> describe_changes(const config::SavedOptions& saved,
                                          const std::vector<OptionGroup>& options) {
    std::vector<std::string> changes;
    for (const config::OptionValue& now : collect_values_to_save(options)) {
        const auto saved_option = std::ranges::find(saved.values, now.name, &config::OptionValue::name);
        if (saved_option == saved.values.end()) {
            changes.push_back(cat("--", now.name, " was not given"));
        } else if (saved_option->value != now.value) {
            changes.push_back(cat("--", now.name, " was ", saved_option->value));
        }
    }
    return changes;
}

}  // namespace trireme::app
