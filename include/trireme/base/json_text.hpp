// Parsing of untrusted JSON: input files, lines of records, texts inside of HDF5 files.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string_view>

namespace trireme {

// Maximum nesting of lists and objects. Deeper texts are refused, because copying, comparing and printing a
// JSON value recurse once per level.
inline constexpr int max_json_depth = 64;

// Json is nlohmann::json or nlohmann::ordered_json.

// Parses `text`. Throws ConfigError, which names the text by `source`, if `text` is not JSON, is nested too
// deeply, or holds a number beyond the range of a double.
template <class Json>
Json parse_json(std::string_view text, std::string_view source);

// Returns nothing if parse_json() would throw.
template <class Json>
std::optional<Json> try_parse_json(std::string_view text);

}  // namespace trireme
