// A check for well-formed UTF-8, and conversions to and from GPT-2's spelling of bytes as visible characters.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace trireme::data {

// Returns the length in bytes of the longest prefix of `text` that is well-formed UTF-8 (Unicode 15, table 3-7:
// no overlong form, no surrogate, nothing above U+10FFFF).
std::size_t find_utf8_prefix(std::string_view text);

// GPT-2's vocabulary files spell bytes as visible characters. Bytes that are visible Latin-1 characters (a
// space is not) represent themselves; the other 68 bytes, in ascending order, become the characters from U+0100
// on (a space is "Ġ", a newline "Ċ").

// Returns `bytes` in this spelling, as UTF-8.
std::string spell_bytes(std::string_view bytes);

// Returns the bytes that `spelling`, in UTF-8, represents. Returns nullopt if it contains a character that
// represents no byte.
std::optional<std::string> parse_spelling(std::string_view spelling);

}  // namespace trireme::data
