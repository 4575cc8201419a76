// A value in a JSON file that users write, with its path in the file for error messages.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace trireme::plan {

// Functions that require a type, a range or keys throw ConfigError if the value does not comply. The message
// names the file, the path of the value in the file, and the value or the wrong key.
class JsonNode {
public:
    using Json = nlohmann::json;

    // Makes the node of the whole file. `file` is its name. `value` and `file` must outlive this node and all
    // nodes that at() and items() return.
    JsonNode(const Json& value, std::string_view file) : value_(&value), file_(file) {}

    // Requires an object with the `needed` keys, possibly the `optional` ones, and no others.
    void require_keys(std::span<const std::string> needed, std::span<const std::string> optional = {}) const;

    // True if the value is an object with this key.
    bool has(const char* key) const { return value_->contains(key); }
    JsonNode at(const char* key) const;   // has(key) must be true
    std::vector<JsonNode> items() const;  // requires a list
    std::size_t whole_number() const;     // 0 to 2^24: layers, ranks, shares
    std::size_t bytes() const;            // 0 to 2^53: bytes and other large counts
    double number() const;                // 0 to 1e30
    std::string text() const;             // requires a string
    bool is_true() const;                 // requires true or false
    bool is_list() const { return value_->is_array(); }
    // Throws ConfigError, e.g. "FILE: stages[0] is 3; it must be <requirement>".
    [[noreturn]] void refuse(std::string_view requirement) const;

private:
    JsonNode(const Json& value, std::string_view file, std::string path)
        : value_(&value), file_(file), path_(std::move(path)) {}

    std::string describe_location() const;
    std::size_t whole_number_up_to(std::uint64_t limit) const;

    const Json* value_;
    std::string_view file_;
    std::string path_;  // for example "stages[0].layers"; empty for the whole file
};

}  // namespace trireme::plan
