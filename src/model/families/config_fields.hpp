// Reads the settings of a config.json and checks their types and ranges.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>

namespace trireme::model {

// The settings of one JSON object. A setting that is null counts as absent. Every error is a ConfigError that
// names the source (the file), the setting and, if there is one, its value.
class ConfigFields {
public:
    using Json = nlohmann::json;

    // `object` must be a JSON object and outlive this ConfigFields. `source` names the file in messages.
    ConfigFields(const Json& object, std::string source) : object_(object), source_(std::move(source)) {}

    const Json* find(const char* key) const;  // null if absent
    bool is_set(const char* key) const { return find(key) != nullptr; }

    // Return the value of the setting, or `default_value` if the setting is absent. Throw if the value has
    // another type or is outside the range in the function's comment.
    std::size_t read_size(const char* key, std::size_t default_value) const;  // 1 to max_model_size (2^24)
    double read_number(const char* key, double default_value) const;          // finite
    double read_number(const char* key) const;                                // finite; throws if absent
    double read_fraction(const char* key, double default_value) const;        // in [0, 1)
    bool read_flag(const char* key, bool default_value) const;
    std::string read_string(const char* key, const std::string& default_value) const;

    // Returns the edge length of a square image. The setting is one number or two equal numbers, for example
    // 224 or [224, 224]. Default and range are those of read_size().
    std::size_t read_edge(const char* key, std::size_t default_value) const;

    // Throws unless the setting is absent or has `supported_value`, the only value that Trireme implements.
    void require_value(const char* key, const Json& supported_value) const;

    // Throws with the message "SOURCE: KEY is VALUE; REASON". A long value is truncated; for an absent setting,
    // VALUE is "not set".
    [[noreturn]] void reject(const char* key, const std::string& reason) const;
    const std::string& source() const { return source_; }

private:
    const Json& object_;
    std::string source_;
};

}  // namespace trireme::model
