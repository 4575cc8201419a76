// Parsing of untrusted JSON: input files, lines of record files, and JSON texts that HDF5 files contain.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string_view>

namespace trireme {

// Maximum nesting depth of lists and objects. Deeper texts are refused, because copying, comparing and printing
// a JSON value recurse once per level.
inline constexpr int max_json_depth = 64;

// Parses `text` as a Json, which is nlohmann::json or nlohmann::ordered_json. Throws ConfigError if `text` is
// not JSON, is nested too deeply, or contains a number beyond the range of a double. The message begins with
// `source`, such as a path.
template <class Json>
Json parse_json(std::string_view text, std::string_view source);

// Parses `text` like parse_json(), but returns nullopt if parse_json() would throw ConfigError.
template <class Json>
std::optional<Json> try_parse_json(std::string_view text);

}  // namespace trireme
