#include "report/json_fields.hpp"

#include <algorithm>

#include "trireme/base/error.hpp"

namespace trireme::report {

std::optional<double> JsonFields::number(const char* path) const {
    const Json* found = field(path);
    if (found == nullptr) return std::nullopt;
    if (!found->is_number()) refuse(path, "number");
    return found->get<double>();
}

std::optional<std::string> JsonFields::text(const char* path) const {
    const Json* found = field(path);
    if (found == nullptr) return std::nullopt;
    if (!found->is_string()) refuse(path, "text");
    return found->get<std::string>();
}

std::vector<std::string> JsonFields::texts(const char* path) const {
    const Json* found = field(path);
    if (found == nullptr) return {};
    const auto is_text = [](const Json& each) { return each.is_string(); };
    if (!found->is_array() || !std::ranges::all_of(*found, is_text)) refuse(path, "list of texts");
    return found->get<std::vector<std::string>>();
}

std::vector<double> JsonFields::numbers(const char* path) const {
    const Json* found = field(path);
    if (found == nullptr) return {};
    const auto is_number = [](const Json& each) { return each.is_number(); };
    if (!found->is_array() || !std::ranges::all_of(*found, is_number)) refuse(path, "list of numbers");
    return found->get<std::vector<double>>();
}

bool JsonFields::is_set(const char* path) const {
    const Json* found = field(path);
    if (found == nullptr) return false;
    if (!found->is_boolean()) refuse(path, "true or false");
    return found->get<bool>();
}

const Json* JsonFields::field(const char* path) const {
    const Json::json_pointer pointer(path);
    if (!record_.contains(pointer)) return nullptr;
    const Json& found = record_.at(pointer);
    return found.is_null() ? nullptr : &found;
}

void JsonFields::refuse(const char* path, const char* kind) const {
    throw ConfigError(cat(place_, ": '", path + 1, "' is no ", kind,
                          "; the records are damaged, or of another version of trireme"));
}

}  // namespace trireme::report
