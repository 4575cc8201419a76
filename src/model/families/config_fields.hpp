// Reads the settings of a config.json and checks their types and ranges.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>

namespace trireme::model {

// Settings that are absent or null have the value `default_value`. Every error is a ConfigError that names the
// source (the file), the setting and its value.
class ConfigFields {
public:
    using Json = nlohmann::json;

    // `object` must be a JSON object and outlive this ConfigFields. `source` names the file in messages.
    ConfigFields(const Json& object, std::string source) : object_(object), source_(std::move(source)) {}

    const Json* find(const char* key) const;  // null if absent or null
    bool is_set(const char* key) const { return find(key) != nullptr; }

    std::size_t read_size(const char* key, std::size_t default_value) const;  // 1 to 2^24
    double read_number(const char* key, double default_value) const;          // finite
    double read_number(const char* key) const;                                // throws if it is absent
    double read_fraction(const char* key, double default_value) const;        // [0, 1)
    bool read_flag(const char* key, bool default_value) const;
    std::string read_string(const char* key, const std::string& default_value) const;

    // Returns the length of the edges of a square, which is written as a number or as [size, size].
    std::size_t read_edge(const char* key, std::size_t default_value) const;

    // Throws if the setting is present and its value is not `supported_value`, the only one that Trireme
    // implements.
    void require_value(const char* key, const Json& supported_value) const;

    // Throws with the message "SOURCE: KEY is VALUE; REASON"; a long value is truncated.
    [[noreturn]] void reject(const char* key, const std::string& reason) const;
    const std::string& source() const { return source_; }

private:
    const Json& object_;
    std::string source_;
};

}  // namespace trireme::model
