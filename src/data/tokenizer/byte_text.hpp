// Checks for well-formed UTF-8, and GPT-2's spelling of bytes as visible characters.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace trireme::data {

// Returns the length in bytes of the longest prefix of `text` that is well-formed UTF-8 (Unicode 15, table 3-7:
// no overlong form, no surrogate, nothing above U+10FFFF).
std::size_t utf8_prefix(std::string_view text);

// GPT-2's vocabulary files spell bytes as visible characters. Printable Latin-1 characters represent
// themselves; the other 68 bytes become U+0100 and up in order (a space is "Ġ", a newline "Ċ").

// Returns `bytes` in this spelling, as UTF-8.
std::string spelled(std::string_view bytes);

// Returns the bytes that `spelling` (UTF-8) represents, or nullopt if it has a character outside the 256.
std::optional<std::string> unspelled(std::string_view spelling);

}  // namespace trireme::data
