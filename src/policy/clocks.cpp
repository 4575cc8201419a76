#include "trireme/policy/clocks.hpp"

#include <algorithm>
#include <cstdlib>

namespace trireme::policy {

std::vector<int> list_candidate_clocks(const std::vector<int>& mhz) {
    constexpr int distance = 90;  // MHz
    std::vector<int> candidates;
    for (int wanted = mhz.front(); wanted >= mhz.back(); wanted -= distance) {
        const int nearest =
            *std::ranges::min_element(mhz, {}, [&](int each) { return std::abs(each - wanted); });
        if (candidates.empty() || candidates.back() != nearest) candidates.push_back(nearest);
    }
    return candidates;
}

std::vector<std::size_t> find_best_clocks(const std::vector<std::vector<double>>& joules) {
    std::vector<std::size_t> best(joules.front().size());
    for (std::size_t candidate = 1; candidate < joules.size(); ++candidate)
        for (std::size_t device = 0; device < best.size(); ++device)
            if (joules[candidate][device] < joules[best[device]][device]) best[device] = candidate;
    return best;
}

}  // namespace trireme::policy
