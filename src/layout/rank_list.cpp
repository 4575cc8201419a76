#include "layout/rank_list.hpp"

namespace trireme {

std::string text_of_ranks(const std::vector<int>& ranks) {
    std::string text = ranks.size() == 1 ? "rank " : "ranks ";
    for (std::size_t first = 0; first < ranks.size();) {
        std::size_t last = first;
        while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
        if (last < first + 2) last = first;  // "0,1", not "0-1"
        if (first > 0) text += ',';
        text += std::to_string(ranks[first]);
        if (last > first) text += '-' + std::to_string(ranks[last]);
        first = last + 1;
    }
    return text;
}

}  // namespace trireme
