// Reads the settings of a config.json and checks their types and ranges.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>

namespace trireme::model {

// Settings that are absent or null have the value `otherwise`. Every error is a ConfigError that names the
// place, the setting and its value.
class ConfigFields {
public:
    using Json = nlohmann::json;

    // `object` is a JSON object that outlives this.
    ConfigFields(const Json& object, std::string place) : object_(object), place_(std::move(place)) {}

    const Json* find(const char* key) const;  // null if absent or null
    bool is_set(const char* key) const { return find(key) != nullptr; }

    std::size_t size(const char* key, std::size_t otherwise) const;  // 1 to 2^24
    double number(const char* key, double otherwise) const;          // finite
    double number(const char* key) const;                            // required
    double share(const char* key, double otherwise) const;           // [0, 1)
    bool flag(const char* key, bool otherwise) const;
    std::string word(const char* key, const std::string& otherwise) const;

    // Returns the edge of a square, written as a number or as [size, size].
    std::size_t edge(const char* key, std::size_t otherwise) const;

    // Throws if the setting is present with another value than `only`, the one that Trireme implements.
    void require(const char* key, const Json& only) const;

    // Throws with the message "PLACE: KEY is VALUE; REASON"; a long value is truncated.
    [[noreturn]] void refuse(const char* key, const std::string& reason) const;
    const std::string& place() const { return place_; }

private:
    const Json& object_;
    std::string place_;
};

}  // namespace trireme::model
