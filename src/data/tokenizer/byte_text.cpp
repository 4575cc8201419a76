#include "data/tokenizer/byte_text.hpp"

#include <array>
#include <cstdint>
#include <cstring>

namespace trireme::data {
namespace {

bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

// Returns the number of bytes of the UTF-8 character with which `text` begins, or 0 if it is not well-formed.
std::size_t count_sequence_bytes(std::string_view text) {
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

bool are_eight_ascii_bytes(const char* at) {
    std::uint64_t word;
    std::memcpy(&word, at, sizeof word);
    return (word & 0x8080808080808080) == 0;
}

// Bytes that do not represent themselves are spelled with the characters from `first_substitute` on: see
// spell_bytes().
constexpr unsigned first_substitute = 0x100;
constexpr std::size_t substitute_count = 68;

constexpr bool stands_for_itself(unsigned byte) {
    return (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

// The visible characters (code points) that represent the 256 bytes.
struct Alphabet {
    std::array<std::uint16_t, 256> characters{};  // indexed by byte
    // Indexed by character; -1 if the character represents no byte.
    std::array<std::int16_t, first_substitute + substitute_count> bytes{};
};

constexpr Alphabet make_alphabet() {
    Alphabet alphabet;
    alphabet.bytes.fill(-1);
    unsigned substitute = first_substitute;
    for (unsigned byte = 0; byte < 256; ++byte) {
        const unsigned character = stands_for_itself(byte) ? byte : substitute++;
        alphabet.characters[byte] = static_cast<std::uint16_t>(character);
        alphabet.bytes[character] = static_cast<std::int16_t>(byte);
    }
    return alphabet;
}

constexpr Alphabet alphabet = make_alphabet();

}  // namespace

std::size_t find_utf8_prefix(std::string_view text) {
    std::size_t at = 0;
    while (at < text.size()) {
        if (at + 8 <= text.size() && are_eight_ascii_bytes(text.data() + at)) {
            at += 8;
            continue;
        }
        const std::size_t length = count_sequence_bytes(text.substr(at));
        if (length == 0) break;
        at += length;
    }
    return at;
}

std::string spell_bytes(std::string_view bytes) {
    std::string text;
    for (const char byte : bytes) {
        const unsigned character = alphabet.characters[static_cast<unsigned char>(byte)];
        if (character < 0x80) {
            text += static_cast<char>(character);
        } else {
            text += static_cast<char>(0xc0 | character >> 6);
            text += static_cast<char>(0x80 | (character & 0x3f));
        }
    }
    return text;
}

std::optional<std::string> parse_spelling(std::string_view spelling) {
    std::string bytes;
    for (std::size_t i = 0; i < spelling.size(); ++i) {
        unsigned character = static_cast<unsigned char>(spelling[i]);
        if (character >= 0x80) {
            // Characters of the alphabet that are not ASCII have two bytes: 110xxxxx 10xxxxxx.
            if ((character & 0xe0) != 0xc0 || ++i == spelling.size()) return std::nullopt;
            character = (character & 0x1f) << 6 | (static_cast<unsigned char>(spelling[i]) & 0x3f);
        }
        if (character >= alphabet.bytes.size() || alphabet.bytes[character] < 0) return std::nullopt;
        bytes += static_cast<char>(alphabet.bytes[character]);
    }
    return bytes;
}

}  // namespace trireme::data
