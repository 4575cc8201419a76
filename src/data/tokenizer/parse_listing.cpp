// Parses the tokens, ids and merges in the files of a tokenizer.
#include "data/tokenizer/tokenizer_files.hpp"
#include "trireme/base/error.hpp"

namespace trireme::data {

std::vector<ListedToken> parse_tokens(const nlohmann::json& object, const std::string& source) {
    if (!object.is_object())
        throw ConfigError(
            cat(source, ": the vocabulary is not an object of tokens and ids; download the file again"));
    std::vector<ListedToken> tokens;
    tokens.reserve(object.size());
    for (const auto& [spelling, id] : object.items())
        tokens.push_back({.spelling = spelling, .id = parse_id(id, spelling, source)});
    return tokens;
}

std::uint32_t parse_id(const nlohmann::json& id, const std::string& spelling, const std::string& source) {
    constexpr std::uint64_t limit = std::uint64_t{1} << 31;
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= limit)
        throw ConfigError(cat(source, ": the id of token \"", spelling, "\" is not a whole number below ",
                              limit, "; download the file again"));
    return id.get<std::uint32_t>();
}

std::pair<std::string, std::string> parse_merge(std::string_view text, std::size_t number,
                                                const std::string& source) {
    const std::size_t space = text.find(' ');
    if (space == std::string_view::npos || space == 0 || space + 1 == text.size() ||
        text.find(' ', space + 1) != std::string_view::npos)
        throw ConfigError(
            cat(source, ": merge ", number, ", \"", text,
                "\", does not consist of two tokens separated by one space; download the file again"));
    return {std::string(text.substr(0, space)), std::string(text.substr(space + 1))};
}

}  // namespace trireme::data
