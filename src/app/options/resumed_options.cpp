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

// True for options that a user sets anew at each start: those of the run's location and of emulation.
bool is_of_one_start(const std::string& name) {
    return is_one_of<10>({"run-dir", "resume", "threads", "device", "time-limit", "dry-run", "slow", "cluster",
                          "network", "charge"},
                         name);
}

bool is_of_layout(const std::string& name) {
    return is_one_of<6>({"pipe", "data", "tensor", "layout", "partition", "chunks"}, name);
}

}  // namespace

std::vector<config::OptionValue> values_to_save(const std::vector<OptionGroup>& options) {
    std::vector<config::OptionValue> values;
    for (const OptionGroup& group : options) {
        for (const Option& option : group.options) {
            const std::string& name = option.words.name;
            if (std::string value = option.get(); !value.empty() && !is_of_one_start(name))
                values.push_back({name, std::move(value)});
        }
    }
    return values;
}

std::vector<Setting> settings_to_take(const config::SavedOptions& saved, const std::set<std::string>& given,
                                      const std::vector<OptionGroup>& options) {
    const bool has_layout = std::ranges::any_of(given, is_of_layout);
    const bool has_duration = given.contains("steps") || given.contains("epochs");
    std::vector<Setting> settings;
    for (const auto& [name, value] : saved.values) {
        const bool is_replaced =
            (has_layout && is_of_layout(name)) || (has_duration && (name == "steps" || name == "epochs"));
        if (is_replaced || is_of_one_start(name) || find(options, name) == nullptr) continue;
        settings.push_back({name, value, "the options of the checkpoint"});
    }
    return settings;
}

// The loop repeats because an option that is reset may have been the condition of another one.
void reset_without_effect(const std::set<std::string>& given, const std::vector<OptionGroup>& options) {
    for (bool changes = true; std::exchange(changes, false);) {
        for (const OptionGroup& group : options) {
            for (const Option& option : group.options) {
                const bool has_effect = !option.has_effect || option.has_effect();
                const std::string& name = option.words.name;
                if (has_effect || given.contains(name) || option.get() == option.default_text) continue;
                option.set({name, option.default_text, ""});
                changes = true;
            }
        }
    }
}

std::vector<std::string> changes_since(const config::SavedOptions& saved,
                                       const std::vector<OptionGroup>& options) {
    std::vector<std::string> changes;
    for (const config::OptionValue& now : values_to_save(options)) {
        const auto was = std::ranges::find(saved.values, now.name, &config::OptionValue::name);
        if (was == saved.values.end()) {
            changes.push_back(cat("--", now.name, " was not given"));
        } else if (was->value != now.value) {
            changes.push_back(cat("--", now.name, " was ", was->value));
        }
    }
    return changes;
}

}  // namespace trireme::app
