#pragma once

#include <cstddef>
#include <string_view>

namespace trireme {

// The length of the longest prefix of `text` that is well-formed UTF-8 (Unicode 15, table 3-7: no overlong
// form, no surrogate, nothing above U+10FFFF), in bytes.
std::size_t utf8_prefix(std::string_view text);

}  // namespace trireme
