// The settings of a config.json, each of its own kind and within its bounds.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>

namespace trireme::model {

// Absent and null are the same: `otherwise`. Every error is a ConfigError that names the place, the setting and
// its value.
class ConfigFields {
public:
    using Json = nlohmann::json;

    // `object` must be one, and outlive this.
    ConfigFields(const Json& object, std::string place) : object_(object), place_(std::move(place)) {}

    const Json* find(const char* key) const;  // nullptr where absent or null
    bool is_set(const char* key) const { return find(key) != nullptr; }

    std::size_t size(const char* key, std::size_t otherwise) const;  // 1 to 2^24
    double number(const char* key, double otherwise) const;          // finite
    double number(const char* key) const;                            // must be there
    double share(const char* key, double otherwise) const;           // [0, 1)
    bool flag(const char* key, bool otherwise) const;
    std::string word(const char* key, const std::string& otherwise) const;

    // A size that is said once, as [size, size] too: the edge of a square.
    std::size_t edge(const char* key, std::size_t otherwise) const;

    // Refuses every value but `only`, under which Trireme computes the same.
    void require(const char* key, const Json& only) const;

    // "PLACE: KEY is VALUE; REASON"; the value is cut short where it is long.
    [[noreturn]] void refuse(const char* key, const std::string& reason) const;
    const std::string& place() const { return place_; }

private:
    const Json& object_;
    std::string place_;
};

}  // namespace trireme::model
