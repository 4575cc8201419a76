#include "trireme/base/message_text.hpp"

#include <algorithm>
#include <vector>

#include "trireme/base/error.hpp"

namespace trireme {
namespace {

bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80; }

// Returns the number of bytes of the UTF-8 character with which `text` begins, or 0 if `text` does not begin
// with UTF-8. The check of the second byte excludes overlong forms, surrogates and code points beyond U+10FFFF
// (The Unicode Standard, table 3-7).
std::size_t count_character_bytes(std::string_view text) {
    const auto first = static_cast<unsigned char>(text.front());
    if (first < 0x80) return 1;
    const std::size_t count = first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
    if (count == 0 || text.size() < count) return 0;
    if (!std::all_of(text.begin() + 1, text.begin() + static_cast<std::ptrdiff_t>(count), is_continuation))
        return 0;
    const auto second = static_cast<unsigned char>(text[1]);
    const bool has_invalid_second_byte = (first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
                                         (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F);
    return has_invalid_second_byte ? 0 : count;
}

// Control characters are U+0000 to U+001F, U+007F, and U+0080 to U+009F.
bool is_control(std::string_view character) {
    const auto first = static_cast<unsigned char>(character.front());
    if (character.size() == 1) return first < 0x20 || first == 0x7F;
    return first == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0;
}

std::string escape_byte(char byte) {
    constexpr std::string_view digits = "0123456789abcdef";
    if (byte == '\n') return "\\n";
    if (byte == '\t') return "\\t";
    if (byte == '\r') return "\\r";
    const auto value = static_cast<unsigned char>(byte);
    return cat("\\x", digits[value >> 4U], digits[value & 15U]);
}

std::string to_lower_case(std::string_view word) {
    std::string result(word);
    for (char& c : result) {
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    return result;
}

// Returns 1 if `word` has at least two bytes and `known` is a longer word that begins with `word`. Otherwise
// returns the edit distance of the two words.
std::size_t count_edits(const std::string& word, const std::string& known) {
    if (word.size() >= 2 && known != word && known.rfind(word, 0) == 0) return 1;
    return compute_edit_distance(word, known);
}

}  // namespace

std::string make_printable(std::string_view text, std::size_t limit) {
    std::string result;
    std::size_t at = 0;
    for (std::size_t count = 0; at < text.size() && count < limit; ++count) {
        const std::size_t bytes = count_character_bytes(text.substr(at));
        const std::string_view character = text.substr(at, std::max<std::size_t>(bytes, 1));
        if (bytes > 0 && !is_control(character)) {
            result += character;
        } else {
            for (const char byte : character) result += escape_byte(byte);
        }
        at += character.size();
    }
    return at < text.size() ? result + "..." : result;
}

std::string quote_text(std::string_view text) { return cat('\'', make_printable(text), '\''); }

std::size_t compute_edit_distance(std::string_view from, std::string_view to) {
    const std::size_t columns = to.size() + 1;
    std::vector<std::size_t> table((from.size() + 1) * columns);
    const auto cost = [&](std::size_t i, std::size_t j) -> std::size_t& { return table[i * columns + j]; };
    for (std::size_t i = 0; i <= from.size(); ++i) cost(i, 0) = i;
    for (std::size_t j = 0; j <= to.size(); ++j) cost(0, j) = j;
    for (std::size_t i = 1; i <= from.size(); ++i) {
        for (std::size_t j = 1; j <= to.size(); ++j) {
            const std::size_t replacement_cost = cost(i - 1, j - 1) + (from[i - 1] == to[j - 1] ? 0 : 1);
            cost(i, j) = std::min({replacement_cost, cost(i - 1, j) + 1, cost(i, j - 1) + 1});
            const bool is_swap = i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1];
            if (is_swap) cost(i, j) = std::min(cost(i, j), cost(i - 2, j - 2) + 1);
        }
    }
    return table.back();
}

std::optional<std::string> find_nearest_word(std::string_view word, std::span<const std::string> known) {
    const std::string lower_word = to_lower_case(word);
    std::optional<std::string> best;
    std::size_t min_edits = 0;
    for (const std::string& candidate : known) {
        if (lower_word.size() > 2 * candidate.size())
            continue;  // too far, and possibly too long for the table of distances
        const std::size_t edits = count_edits(lower_word, to_lower_case(candidate));
        const bool is_near = 5 * edits <= 2 * std::max(lower_word.size(), candidate.size());
        if (is_near && (!best || edits < min_edits)) {
            best = candidate;
            min_edits = edits;
        }
    }
    return best;
}

std::string suggest_word(std::string_view word, std::span<const std::string> known, std::string_view prefix) {
    const std::optional<std::string> suggestion = find_nearest_word(word, known);
    return suggestion ? cat("; did you mean ", prefix, *suggestion, "?") : "";
}

std::string describe_no_effect(const std::string& option, const OptionNeed& need) {
    return cat(option, " has no effect without ", need.condition, "; set ", need.remedy, " or drop ", option);
}

}  // namespace trireme
