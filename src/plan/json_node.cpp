#include "plan/json_node.hpp"

#include <algorithm>

#include "trireme/base/error.hpp"
#include "trireme/base/message_text.hpp"

namespace trireme::plan {
namespace {

constexpr std::uint64_t most_counted = std::uint64_t{1} << 24;  // far beyond any machine
constexpr std::uint64_t most_bytes = std::uint64_t{1} << 53;  // exact as a double, which other JSON readers use
constexpr std::size_t most_shown = 40;                        // bytes of a value in a message

bool is_among(const std::string& key, std::span<const std::string> keys) {
    return std::find(keys.begin(), keys.end(), key) != keys.end();
}

std::string joined(const std::vector<std::string>& words) {
    std::string all;
    for (const std::string& word : words) all += (all.empty() ? "" : ", ") + word;
    return all;
}

std::string shown(const nlohmann::json& value) {
    const std::string text = value.dump(-1, ' ', true);
    return text.size() <= most_shown ? text : text.substr(0, most_shown) + "...";
}

}  // namespace

std::string JsonNode::place() const { return path_.empty() ? std::string(file_) : cat(file_, ": ", path_); }

void JsonNode::refuse(std::string_view must) const {
    throw ConfigError(cat(place(), " is ", shown(*value_), "; it must be ", must));
}

void JsonNode::require_keys(std::span<const std::string> needed, std::span<const std::string> optional) const {
    std::vector<std::string> known(needed.begin(), needed.end());
    known.insert(known.end(), optional.begin(), optional.end());
    if (!value_->is_object()) refuse(cat("an object with ", joined(known)));
    for (const auto& [key, value] : value_->items()) {
        if (is_among(key, known)) continue;
        const std::string meant = did_you_mean(key, known);
        throw ConfigError(cat(place(), " has an unknown key ", shown(key),
                              meant.empty() ? cat("; its keys are ", joined(known)) : meant));
    }
    for (const std::string& key : needed) {
        if (!value_->contains(key)) {
            throw ConfigError(cat(place(), " has no \"", key, "\"; its keys are ", joined(known)));
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

std::size_t JsonNode::whole_number_up_to(std::uint64_t most) const {
    const bool is_whole = value_->is_number_unsigned() && value_->get<std::uint64_t>() <= most;
    if (!is_whole) refuse(cat("a whole number from 0 to ", most));
    return value_->get<std::size_t>();
}

std::size_t JsonNode::whole_number() const { return whole_number_up_to(most_counted); }
std::size_t JsonNode::bytes() const { return whole_number_up_to(most_bytes); }

double JsonNode::number() const {
    constexpr double most = 1e30;  // beyond any rate or time; sums of such numbers stay finite
    if (!value_->is_number() || value_->get<double>() < 0) refuse("a number of at least 0");
    if (value_->get<double>() > most) refuse(cat("a number of at most ", most));
    return value_->get<double>();
}

std::string JsonNode::text() const {
    if (!value_->is_string()) refuse("a text");
    return value_->get<std::string>();
}

bool JsonNode::is_true() const {
    if (!value_->is_boolean()) refuse("true or false");
    return value_->get<bool>();
}

}  // namespace trireme::plan
