#include "data/tokenizer/byte_alphabet.hpp"

#include <array>
#include <cstdint>

namespace trireme {
namespace {

constexpr unsigned first_substitute = 0x100;
constexpr std::size_t substitutes = 68;

constexpr bool stands_for_itself(unsigned byte) {
    return (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

struct Alphabet {
    std::array<std::uint16_t, 256> characters{};                       // by byte
    std::array<std::int16_t, first_substitute + substitutes> bytes{};  // by character; -1: none
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

std::string spelled(std::string_view bytes) {
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

std::optional<std::string> unspelled(std::string_view spelling) {
    std::string bytes;
    for (std::size_t i = 0; i < spelling.size(); ++i) {
        unsigned character = static_cast<unsigned char>(spelling[i]);
        if (character >= 0x80) {
            // Of the alphabet, what is not ASCII takes two bytes: 110xxxxx 10xxxxxx.
            if ((character & 0xe0) != 0xc0 || ++i == spelling.size()) return std::nullopt;
            character = (character & 0x1f) << 6 | (static_cast<unsigned char>(spelling[i]) & 0x3f);
        }
        if (character >= alphabet.bytes.size() || alphabet.bytes[character] < 0) return std::nullopt;
        bytes += static_cast<char>(alphabet.bytes[character]);
    }
    return bytes;
}

}  // namespace trireme
