#include "model/families/config_fields.hpp"

#include <cmath>

#include "trireme/base/error.hpp"
#include "trireme/model/config.hpp"

namespace trireme::model {
namespace {

// Returns the JSON text of a value for a message. A text of more than 60 bytes is cut to at
// most 60 bytes, followed by "...".
std::string dump_json(const ConfigFields::Json& value) {
    constexpr std::size_t max_bytes = 60;
    std::string text = value.dump();
    if (text.size() <= max_bytes) return text;
    std::size_t end = max_bytes;
    // Bytes 10xxxxxx continue a UTF-8 character, so the text must not be cut before such a byte.
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
    const auto field = object_.find(key);
    return field == object_.end() || field->is_null() ? nullptr : &*field;
}

std::size_t ConfigFields::read_size(const char* key, std::size_t default_value) const {
    const Json* value = find(key);
    if (value == nullptr) return default_value;
    if (!is_size(*value)) reject(key, cat("it must be a whole number from 1 to ", max_model_size));
    return value->get<std::size_t>();
}

double ConfigFields::read_number(const char* key, double default_value) const {
    return is_set(key) ? read_number(key) : default_value;
}

double ConfigFields::read_number(const char* key) const {
    const Json* value = find(key);
    if (value == nullptr) throw ConfigError(cat(source_, ": ", key, " is missing; it must be a number"));
    if (!value->is_number() || !std::isfinite(value->get<double>())) reject(key, "it must be a number");
    return value->get<double>();
}

double ConfigFields::read_fraction(const char* key, double default_value) const {
    const double value = read_number(key, default_value);
    if (value < 0 || value >= 1) reject(key, "it must be at least 0 and below 1");
    return value;
}

bool ConfigFields::read_flag(const char* key, bool default_value) const {
    const Json* value = find(key);
    if (value == nullptr) return default_value;
    if (!value->is_boolean()) reject(key, "it must be true or false");
    return value->get<bool>();
}

std::string ConfigFields::read_string(const char* key, const std::string& default_value) const {
    const Json* value = find(key);
    if (value == nullptr) return default_value;
    if (!value->is_string()) reject(key, "it must be a string");
    return value->get<std::string>();
}

std::size_t ConfigFields::read_edge(const char* key, std::size_t default_value) const {
    const Json* value = find(key);
    if (value == nullptr || !value->is_array()) return read_size(key, default_value);
    if (value->size() != 2 || (*value)[0] != (*value)[1]) reject(key, "Trireme reads square images only");
    if (!is_size((*value)[0])) reject(key, cat("it must hold whole numbers from 1 to ", max_model_size));
    return (*value)[0].get<std::size_t>();
}

void ConfigFields::require_value(const char* key, const Json& supported_value) const {
    const Json* value = find(key);
    if (value != nullptr && *value != supported_value) {
        reject(key, supported_value.is_null() ? "Trireme does not support this setting"
                                              : cat("Trireme supports only ", supported_value.dump()));
    }
}

void ConfigFields::reject(const char* key, const std::string& reason) const {
    const Json* value = find(key);
    const std::string text = value == nullptr ? "not set" : dump_json(*value);
    throw ConfigError(cat(source_, ": ", key, " is ", text, "; ", reason));
}

}  // namespace trireme::model
