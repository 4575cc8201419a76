#include "tools/doctor/node_ranks.hpp"

namespace trireme::doctor {

std::map<int, std::vector<int>> ranks_of_nodes(const std::vector<RankFacts>& ranks) {
    std::map<int, std::vector<int>> nodes;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank)
        nodes[ranks[rank].node].push_back(static_cast<int>(rank));
    return nodes;
}

}  // namespace trireme::doctor
