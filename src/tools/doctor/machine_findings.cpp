#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "tools/doctor/findings.hpp"
#include "trireme/base/numbers.hpp"

namespace trireme::tools::doctor {
namespace {

const RankFacts& rank_of(const Facts& facts, int rank) { return facts.ranks[static_cast<std::size_t>(rank)]; }

// Returns "2" or "1 to 4".
template <class Number>
std::string least_to_most(const std::vector<Number>& numbers) {
    const auto [least, most] = std::ranges::minmax_element(numbers);
    return *least == *most ? fmt::format("{}", *least) : fmt::format("{} to {}", *least, *most);
}

// Describes the first node with more ranks than cores that they may use. Empty if there is none.
std::string crowded(const Facts& facts) {
    for (const auto& [node, ranks] : ranks_of_nodes(facts.ranks)) {
        std::set<int> cores;
        for (const int rank : ranks)
            cores.insert(rank_of(facts, rank).cores.begin(), rank_of(facts, rank).cores.end());
        if (ranks.size() <= cores.size()) continue;
        const auto all = static_cast<std::size_t>(rank_of(facts, node).node_cores);
        return fmt::format("{} of {} take turns on {} of its {}: {}", counted(ranks.size(), "rank"),
                           rank_of(facts, node).host, cores.size(), counted(all, "core"),
                           all < ranks.size()
                               ? "start fewer on a host"
                               : "give each one (srun --cpus-per-task=1, mpirun --bind-to core)");
    }
    return {};
}

Finding cores_finding(const Facts& facts) {
    std::vector<std::size_t> counts;
    std::vector<int> threads;
    for (const RankFacts& rank : facts.ranks) {
        counts.push_back(rank.cores.size());
        threads.push_back(rank.threads);
    }
    return {.name = "cores",
            .status = Status::ok,
            .text = fmt::format("{} for a rank, threads: {}; rank 0 may run on {} of 0-{}",
                                least_to_most(counts), least_to_most(threads),
                                number_list(facts.ranks.front().cores), facts.ranks.front().node_cores - 1),
            .advice = crowded(facts)};
}

Finding processor_finding(const Facts& facts) {
    std::map<std::string, std::vector<int>> kinds;
    for (std::size_t rank = 0; rank < facts.ranks.size(); ++rank)
        kinds[facts.ranks[rank].processor].push_back(static_cast<int>(rank));
    std::string text;
    for (const auto& [name, ranks] : kinds) {
        text += text.empty() ? "" : "; ";
        text += kinds.size() == 1 ? name : fmt::format("{} (ranks {})", name, number_list(ranks));
    }
    return {.name = "processor", .status = Status::ok, .text = text};
}

Finding memory_finding(const Facts& facts) {
    constexpr double gigabyte = 1e9;
    const RankFacts& least = *std::ranges::min_element(facts.ranks, {}, &RankFacts::available_bytes);
    const std::size_t nodes = ranks_of_nodes(facts.ranks).size();
    if (!least.memory_group.empty())
        return {.name = "memory",
                .status = Status::ok,
                .text = fmt::format("{:.1f} GB left of {:.1f}, the limit of the memory control group {} on {}, "
                                    "which has {:.1f}",
                                    least.available_bytes / gigabyte, least.group_bytes / gigabyte,
                                    least.memory_group, least.host, least.node_bytes / gigabyte)};
    if (least.available_bytes == 0)
        return {.name = "memory",
                .status = Status::ok,
                .text = fmt::format("{:.1f} GB on {}, which does not tell how much is left",
                                    least.node_bytes / gigabyte, least.host)};
    return {.name = "memory",
            .status = Status::ok,
            .text = fmt::format("{:.1f} GB left of {:.1f} on {}{}", least.available_bytes / gigabyte,
                                least.node_bytes / gigabyte, least.host,
                                nodes > 1 ? ", which has least left" : "")};
}

Finding arithmetic_finding(const Facts& facts) {
    constexpr double giga = 1e9;
    constexpr double slow_share = 0.7;  // fraction of the median, below which a rank slows the whole job down
    std::vector<double> rates;
    for (const RankFacts& rank : facts.ranks) rates.push_back(rank.flops);
    const auto slowest = std::ranges::min_element(rates);
    const double median = median_of(rates);
    const double sum = std::accumulate(rates.begin(), rates.end(), 0.0);
    const auto rank = static_cast<int>(slowest - rates.begin());
    Finding finding{
        .name = "arithmetic",
        .status = Status::ok,
        .text = fmt::format("{:.1f} GFLOP/s in f32, of {} at once", sum / giga, counted(rates.size(), "rank"))};
    if (*slowest < slow_share * median && crowded(facts).empty())
        finding.advice = fmt::format(
            "rank {} on {} reaches {:.1f}, the median {:.1f}: all others will wait for it (see --straggler)",
            rank, rank_of(facts, rank).host, *slowest / giga, median / giga);
    return finding;
}

}  // namespace

std::vector<Finding> machine_findings(const Facts& facts) {
    std::vector<Finding> all{cores_finding(facts), processor_finding(facts), memory_finding(facts),
                             arithmetic_finding(facts), gpu_finding(facts)};
    for (Finding& finding : gpu_state_findings(facts)) all.push_back(std::move(finding));
    return all;
}

}  // namespace trireme::tools::doctor
