#include "model/families/config_fields.hpp"

#include <cmath>

#include "trireme/base/error.hpp"
#include "trireme/model/config.hpp"

namespace trireme::model {
namespace {

std::string dump_json(const ConfigFields::Json& value) {
    constexpr std::size_t longest = 60;
    std::string text = value.dump();
    if (text.size() <= longest) return text;
    std::size_t end = longest;
    // Do not cut a UTF-8 sequence.
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
    return text.substr(0, end) + "...";
}

bool is_size(const ConfigFields::Json& value) {
    if (!value.is_number_unsigned()) return false;
    const auto size = value.get<std::size_t>();
    return size >= 1 && size <= max_model_size;
}

}  // namespace

const ConfigFields::Json* ConfigFields::find(const char* key) const {
    const auto at = object_.find(key);
    return at == object_.end() || at->is_null() ? nullptr : &*at;
}

std::size_t ConfigFields::size(const char* key, std::size_t otherwise) const {
    const Json* value = find(key);
    if (value == nullptr) return otherwise;
    if (!is_size(*value)) refuse(key, cat("it must be a whole number from 1 to ", max_model_size));
    return value->get<std::size_t>();
}

double ConfigFields::number(const char* key, double otherwise) const {
    return is_set(key) ? number(key) : otherwise;
}

double ConfigFields::number(const char* key) const {
    const Json* value = find(key);
    if (value == nullptr) throw ConfigError(cat(place_, ": ", key, " is missing; it must be a number"));
    if (!value->is_number() || !std::isfinite(value->get<double>())) refuse(key, "it must be a number");
    return value->get<double>();
}

double ConfigFields::share(const char* key, double otherwise) const {
    const double value = number(key, otherwise);
    if (value < 0 || value >= 1) refuse(key, "it must be at least 0 and below 1");
    return value;
}

bool ConfigFields::flag(const char* key, bool otherwise) const {
    const Json* value = find(key);
    if (value == nullptr) return otherwise;
    if (!value->is_boolean()) refuse(key, "it must be true or false");
    return value->get<bool>();
}

std::string ConfigFields::word(const char* key, const std::string& otherwise) const {
    const Json* value = find(key);
    if (value == nullptr) return otherwise;
    if (!value->is_string()) refuse(key, "it must be a word in quotes");
    return value->get<std::string>();
}

std::size_t ConfigFields::edge(const char* key, std::size_t otherwise) const {
    const Json* value = find(key);
    if (value == nullptr || !value->is_array()) return size(key, otherwise);
    if (value->size() != 2 || (*value)[0] != (*value)[1]) refuse(key, "Trireme reads square images only");
    if (!is_size((*value)[0])) refuse(key, cat("it must be whole numbers from 1 to ", max_model_size));
    return (*value)[0].get<std::size_t>();
}

void ConfigFields::require(const char* key, const Json& only) const {
    const Json* value = find(key);
    if (value != nullptr && *value != only) {
        refuse(key, cat("Trireme computes with ", only.is_null() ? "none" : only.dump(), " only"));
    }
}

void ConfigFields::refuse(const char* key, const std::string& reason) const {
    const Json* value = find(key);
    const std::string said = value == nullptr ? "not set" : dump_json(*value);
    throw ConfigError(cat(place_, ": ", key, " is ", said, "; ", reason));
}

}  // namespace trireme::model
