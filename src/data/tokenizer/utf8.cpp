#include "data/tokenizer/utf8.hpp"

#include <cstdint>
#include <cstring>

namespace trireme {
namespace {

bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

// The length of the well-formed sequence that `text` begins with, 0 if it begins with none.
std::size_t sequence_length(std::string_view text) {
    const auto first = static_cast<unsigned char>(text[0]);
    if (first < 0x80) return 1;
    const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
    for (std::size_t i = 1; i < length; ++i)
        if (!is_continuation(text[i])) return 0;
    const auto second = static_cast<unsigned char>(text[1]);
    const bool is_overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
    const bool is_surrogate = first == 0xed && second >= 0xa0;
    const bool is_too_high = first == 0xf4 && second >= 0x90;
    return is_overlong || is_surrogate || is_too_high ? 0 : length;
}

bool is_ascii_word(const char* at) {
    std::uint64_t word;
    std::memcpy(&word, at, sizeof word);
    return (word & 0x8080808080808080) == 0;
}

}  // namespace

std::size_t utf8_prefix(std::string_view text) {
    std::size_t at = 0;
    while (at < text.size()) {
        if (at + 8 <= text.size() && is_ascii_word(text.data() + at)) {
            at += 8;
            continue;
        }
        const std::size_t length = sequence_length(text.substr(at));
        if (length == 0) break;
        at += length;
    }
    return at;
}

}  // namespace trireme
