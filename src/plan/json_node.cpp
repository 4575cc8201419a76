#include "plan/json_node.hpp"

#include <algorithm>

#include "trireme/base/error.hpp"
#include "trireme/base/message_text.hpp"

namespace trireme::plan {
namespace {

constexpr std::uint64_t max_whole_number = std::uint64_t{1} << 24;  // exceeds the ranks of any machine
// Other JSON readers store numbers as doubles, which are exact up to this limit.
constexpr std::uint64_t max_bytes = std::uint64_t{1} << 53;
constexpr std::size_t max_shown_bytes = 40;  // of a value in a message; the rest becomes "..."

bool is_among(const std::string& key, std::span<const std::string> keys) {
    return std::find(keys.begin(), keys.end(), key) != keys.end();
}

std::string join_keys(const std::vector<std::string>& keys) {
    std::string text;
    for (const std::string& key : keys) text += (text.empty() ? "" : ", ") + key;
    return text;
}

std::string format_value(const nlohmann::json& value) {
    const std::string text = value.dump(-1, ' ', true);
    return text.size() <= max_shown_bytes ? text : text.substr(0, max_shown_bytes) + "...";
}

}  // namespace

std::string JsonNode::describe_location() const {
    return path_.empty() ? std::string(file_) : cat(file_, ": ", path_);
}

void JsonNode::refuse(std::string_view requirement) const {
    throw ConfigError(cat(describe_location(), " is ", format_value(*value_), "; it must be ", requirement));
}

void JsonNode::require_keys(std::span<const std::string> needed, std::span<const std::string> optional) const {
    std::vector<std::string> all_keys(needed.begin(), needed.end());
    all_keys.insert(all_keys.end(), optional.begin(), optional.end());
    if (!value_->is_object()) refuse(cat("an object with the keys ", join_keys(all_keys)));
    for (const auto& [key, value] : value_->items()) {
        if (is_among(key, all_keys)) continue;
        const std::string suggestion = suggest_word(key, all_keys);
        throw ConfigError(
            cat(describe_location(), " has an unknown key ", format_value(key),
                suggestion.empty() ? cat("; the known keys are ", join_keys(all_keys)) : suggestion));
    }
    for (const std::string& key : needed) {
        if (!value_->contains(key)) {
            throw ConfigError(
                cat(describe_location(), " has no \"", key, "\"; the known keys are ", join_keys(all_keys)));
        }
    }
}

JsonNode JsonNode::at(const char* key) const {
    return {value_->at(key), file_, path_.empty() ? key : cat(path_, '.', key)};
}

std::vector<JsonNode> JsonNode::items() const {
    if (!value_->is_array()) refuse("a list");
    std::vector<JsonNode> nodes;
    for (const Json& item : *value_) nodes.push_back({item, file_, cat(path_, '[', nodes.size(), ']')});
    return nodes;
}

std::size_t JsonNode::whole_number_up_to(std::uint64_t limit) const {
    const bool is_whole = value_->is_number_unsigned() && value_->get<std::uint64_t>() <= limit;
    if (!is_whole) refuse(cat("a whole number from 0 to ", limit));
    return value_->get<std::size_t>();
}

std::size_t JsonNode::whole_number() const { return whole_number_up_to(max_whole_number); }
std::size_t JsonNode::bytes() const { return whole_number_up_to(max_bytes); }

double JsonNode::number() const {
    constexpr double limit = 1e30;  // beyond any rate or time; sums of such numbers stay finite
    if (!value_->is_number() || value_->get<double>() < 0) refuse("a number of at least 0");
    if (value_->get<double>() > limit) refuse(cat("a number of at most ", limit));
    return value_->get<double>();
}

std::string JsonNode::text() const {
    if (!value_->is_string()) refuse("a string");
    return value_->get<std::string>();
}

bool JsonNode::is_true() const {
    if (!value_->is_boolean()) refuse("true or false");
    return value_->get<bool>();
}

}  // namespace trireme::plan
