#include "trireme/setup/exchange_costs.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "trireme/setup/step_costs.hpp"

namespace trireme::setup {
namespace {

std::map<std::size_t, std::vector<int>> group_by_node(const Machine& machine, const std::vector<int>& holders) {
    std::map<std::size_t, std::vector<int>> holders_by_node;
    for (const int rank : holders) holders_by_node[machine.find_node(rank)].push_back(rank);
    return holders_by_node;
}

// Returns the time of an all-gather or reduce-scatter of `bytes` bytes among the holders. Every holder owns an
// equal portion of the bytes. In an all-gather, a holder sends its portion to all other holders. In a
// reduce-scatter, a holder receives its portion from all other holders. `leaving_ranks` has, per node, the
// number of its ranks that exchange bytes with other nodes at the same time.
double predict_seconds(const Machine& machine, const std::vector<int>& holders, double bytes,
                       std::map<std::size_t, std::size_t>& leaving_ranks) {
    if (bytes == 0) return 0;
    const auto size = static_cast<double>(holders.size());
    const std::map<std::size_t, std::vector<int>> holders_by_node = group_by_node(machine, holders);
    double slowest = 0;
    for (const auto& [node, ranks] : holders_by_node) {
        const auto inside = static_cast<double>(ranks.size());
        if (ranks.size() > 1) {
            const layout::Link link = machine.find_link(ranks[0], ranks[1], 1);
            slowest = std::max(slowest, link.predict_seconds(bytes * (inside - 1) / size));
        }
        if (holders_by_node.size() == 1) continue;
        const auto& other_node =
            holders_by_node.begin()->first == node ? *holders_by_node.rbegin() : *holders_by_node.begin();
        const layout::Link link = machine.find_link(ranks[0], other_node.second.front(), leaving_ranks[node]);
        slowest = std::max(slowest, link.predict_seconds(bytes * (size - inside) / size));
    }
    return slowest;
}

}  // namespace

std::vector<ExchangeSeconds> predict_gradient_exchanges(const PricedPlan& priced, const Machine& machine) {
    const std::vector<layout::StageLayout>& stages = priced.plan.layout.stages;
    const auto trains = [&](int stage) { return priced.plan.training.shape.trains(stage); };
    std::set<std::size_t> first_layers;  // of the trained layers of each stage
    for (const layout::StageLayout& stage : stages)
        first_layers.insert(std::max(stage.layers.begin, priced.plan.first_trained_layer()));
    struct Elements {
        double early = 0;
        double late = 0;
    };
    std::map<std::vector<int>, Elements> elements_by_holders;
    for (const layout::Bucket& bucket : priced.gradients.buckets) {
        if (bucket.holders.size() < 2) continue;
        Elements& elements = elements_by_holders[bucket.holders];
        (first_layers.contains(bucket.last_use) ? elements.late : elements.early) +=
            static_cast<double>(bucket.elements);
    }
    const auto gradient_bytes = static_cast<double>(byte_size(accumulator_type(priced.dtype)));
    const double gathered_bytes =
        priced.plan.shards_optimizer ? static_cast<double>(byte_size(priced.dtype)) : gradient_bytes;
    // The stages end their backward passes, and update, at almost the same time.
    std::set<int> leaving;
    for (const auto& [holders, elements] : elements_by_holders)
        if (group_by_node(machine, holders).size() > 1) leaving.insert(holders.begin(), holders.end());
    std::map<std::size_t, std::size_t> leaving_ranks;
    for (const int rank : leaving) ++leaving_ranks[machine.find_node(rank)];
    std::map<int, ExchangeSeconds> exchange_by_rank;
    for (const auto& [holders, elements] : elements_by_holders) {
        const ExchangeSeconds seconds{
            .early_reduce_scatter =
                predict_seconds(machine, holders, gradient_bytes * elements.early, leaving_ranks),
            .late_reduce_scatter =
                predict_seconds(machine, holders, gradient_bytes * elements.late, leaving_ranks),
            .all_gather = predict_seconds(machine, holders, gathered_bytes * (elements.early + elements.late),
                                          leaving_ranks)};
        for (const int rank : holders) {
            ExchangeSeconds& sum = exchange_by_rank[rank];
            sum.early_reduce_scatter += seconds.early_reduce_scatter;
            sum.late_reduce_scatter += seconds.late_reduce_scatter;
            sum.all_gather += seconds.all_gather;
        }
    }
    std::vector<ExchangeSeconds> exchanges(stages.size());
    for (const layout::Team& team : priced.plan.teams) {
        const auto trained_stages = static_cast<double>(std::ranges::count_if(team.stages, trains));
        for (const int rank : team.ranks) {
            const ExchangeSeconds& seconds = exchange_by_rank[rank];
            for (const int s : team.stages) {
                if (!trains(s)) continue;
                ExchangeSeconds& slowest = exchanges[static_cast<std::size_t>(s)];
                for (double ExchangeSeconds::*part :
                     {&ExchangeSeconds::early_reduce_scatter, &ExchangeSeconds::late_reduce_scatter,
                      &ExchangeSeconds::all_gather})
                    slowest.*part = std::max(slowest.*part, seconds.*part / trained_stages);
            }
        }
    }
    return exchanges;
}

}  // namespace trireme::setup
