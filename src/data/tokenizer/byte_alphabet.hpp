// GPT-2's spelling of bytes as visible characters, which its vocabulary files are written in: printable Latin-1
// characters stand for themselves, the other 68 bytes are U+0100 and up in order (a space is "Ġ", a newline
// "Ċ").
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace trireme {

// `bytes` in that spelling, as UTF-8.
std::string spelled(std::string_view bytes);

// The bytes that `spelling` (UTF-8) stands for; nothing if it has a character outside the 256.
std::optional<std::string> unspelled(std::string_view spelling);

}  // namespace trireme
