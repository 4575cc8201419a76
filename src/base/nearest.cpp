#include "trireme/base/nearest.hpp"

#include <algorithm>
#include <vector>

#include "trireme/base/error.hpp"

namespace trireme {
namespace {

std::string lower(std::string_view word) {
    std::string result(word);
    for (char& c : result) {
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    return result;
}

// An abbreviation is one slip, however long the word.
std::size_t slips(const std::string& word, const std::string& known) {
    if (word.size() >= 2 && known != word && known.rfind(word, 0) == 0) return 1;
    return edit_distance(word, known);
}

}  // namespace

std::size_t edit_distance(std::string_view from, std::string_view to) {
    const std::size_t columns = to.size() + 1;
    std::vector<std::size_t> table((from.size() + 1) * columns);
    const auto cost = [&](std::size_t i, std::size_t j) -> std::size_t& { return table[i * columns + j]; };
    for (std::size_t i = 0; i <= from.size(); ++i) cost(i, 0) = i;
    for (std::size_t j = 0; j <= to.size(); ++j) cost(0, j) = j;
    for (std::size_t i = 1; i <= from.size(); ++i) {
        for (std::size_t j = 1; j <= to.size(); ++j) {
            const std::size_t replaced = cost(i - 1, j - 1) + (from[i - 1] == to[j - 1] ? 0 : 1);
            cost(i, j) = std::min({replaced, cost(i - 1, j) + 1, cost(i, j - 1) + 1});
            const bool swapped = i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1];
            if (swapped) cost(i, j) = std::min(cost(i, j), cost(i - 2, j - 2) + 1);
        }
    }
    return table.back();
}

std::optional<std::string> nearest(std::string_view word, std::span<const std::string> known) {
    const std::string meant = lower(word);
    std::optional<std::string> best;
    std::size_t fewest = 0;
    for (const std::string& candidate : known) {
        if (meant.size() > 2 * candidate.size()) continue;  // too far, and perhaps too long for a table
        const std::size_t count = slips(meant, lower(candidate));
        const bool is_near = 5 * count <= 2 * std::max(meant.size(), candidate.size());
        if (is_near && (!best || count < fewest)) {
            best = candidate;
            fewest = count;
        }
    }
    return best;
}

std::string did_you_mean(std::string_view word, std::span<const std::string> known, std::string_view mark) {
    const std::optional<std::string> meant = nearest(word, known);
    return meant ? cat("; did you mean ", mark, *meant, "?") : "";
}

}  // namespace trireme
