// JSON that somebody else wrote: input files, lines of records, texts inside of HDF5 files.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string_view>

namespace trireme {

// Levels of lists and objects. Deeper texts are refused: copying, comparing and printing a JSON value recurse
// once for each level.
inline constexpr int max_json_depth = 64;

// Json is nlohmann::json or nlohmann::ordered_json. `source` names the text in messages.

// Throws ConfigError if `text` is not JSON, is nested too deeply, or holds a number beyond the range of a
// double.
template <class Json>
Json parse_json(std::string_view text, std::string_view source);

// Returns nothing if `text` is not JSON. Throws ConfigError if it is nested too deeply.
template <class Json>
std::optional<Json> try_parse_json(std::string_view text, std::string_view source);

}  // namespace trireme
