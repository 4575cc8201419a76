// The notations that the tokenizer files share.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/tokenizer/listing.hpp"

namespace trireme {

// The object {"spelling": id, ...}. Throws ConfigError if it is anything else.
std::vector<ListedToken> parse_tokens(const nlohmann::json& object, const std::string& source);

// The id of the token `spelling`. Throws ConfigError for anything but a whole number below 2^31.
std::uint32_t parse_id(const nlohmann::json& id, const std::string& spelling, const std::string& source);

// The parts of "left right", the `number`th merge of `source`, counted from 1. Throws ConfigError if they are
// not two.
std::pair<std::string, std::string> parse_merge(std::string_view text, std::size_t number,
                                                const std::string& source);

}  // namespace trireme
