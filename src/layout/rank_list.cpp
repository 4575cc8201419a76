#include "trireme/layout/rank_list.hpp"

#include "trireme/base/numbers.hpp"

namespace trireme {

std::string text_of_ranks(const std::vector<int>& ranks) {
    return (ranks.size() == 1 ? "rank " : "ranks ") + number_list(ranks);
}

}  // namespace trireme
