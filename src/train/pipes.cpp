#include <algorithm>
#include <numeric>

#include "train/rank_groups.hpp"

namespace trireme {
namespace {

// Teams that are connected, each under the number of the first of them.
class Connections {
public:
    explicit Connections(std::size_t teams) : first_(teams) { std::iota(first_.begin(), first_.end(), 0); }

    int first_of(int team) const {
        while (first_[static_cast<std::size_t>(team)] != team) team = first_[static_cast<std::size_t>(team)];
        return team;
    }
    void connect(int a, int b) {
        const int low = std::min(first_of(a), first_of(b));
        const int high = std::max(first_of(a), first_of(b));
        first_[static_cast<std::size_t>(high)] = low;
    }

private:
    std::vector<int> first_;
};

}  // namespace

std::vector<std::vector<int>> pipes_of(const Plan& plan) {
    const PipelineShape& shape = plan.training.shape;
    Connections connections(plan.teams.size());
    for (int stage = 0; stage + 1 < shape.stages(); ++stage) {
        for (int m = 0; m < shape.micro_batches; ++m) {
            connections.connect(shape.executor_of(stage, m), shape.executor_of(stage + 1, m));
        }
    }
    std::vector<std::vector<int>> by_first(plan.teams.size());
    for (std::size_t team = 0; team < plan.teams.size(); ++team) {
        auto& ranks = by_first[static_cast<std::size_t>(connections.first_of(static_cast<int>(team)))];
        ranks.insert(ranks.end(), plan.teams[team].ranks.begin(), plan.teams[team].ranks.end());
    }
    std::erase_if(by_first, [](const std::vector<int>& ranks) { return ranks.empty(); });
    for (std::vector<int>& ranks : by_first) std::sort(ranks.begin(), ranks.end());
    return by_first;
}

}  // namespace trireme
