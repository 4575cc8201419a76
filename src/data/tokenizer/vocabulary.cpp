#include "data/tokenizer/vocabulary.hpp"

namespace trireme {

std::optional<std::uint32_t> Vocabulary::special_token(std::string_view spelling) const {
    for (const std::uint32_t id : specials)
        if (tokens[id] == spelling) return id;
    return std::nullopt;
}

Vocabulary byte_vocabulary() {
    Vocabulary vocabulary;
    for (std::size_t byte = 0; byte < byte_values; ++byte) {
        vocabulary.tokens.emplace_back(1, static_cast<char>(byte));
        vocabulary.byte_tokens[byte] = static_cast<std::uint32_t>(byte);
    }
    vocabulary.tokens.emplace_back(end_of_text);
    vocabulary.specials.push_back(byte_values);
    return vocabulary;
}

}  // namespace trireme
