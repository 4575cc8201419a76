#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "tools/doctor/findings.hpp"
#include "trireme/base/numbers.hpp"

namespace trireme::tools::doctor {
namespace {

const RankFacts& find_rank(const Facts& facts, int rank) { return facts.ranks[static_cast<std::size_t>(rank)]; }

// Returns the minimum and maximum, for example "1 to 4"; or "2" if all numbers are equal to 2.
template <class Number>
std::string format_range(const std::vector<Number>& numbers) {
    const auto [min, max] = std::ranges::minmax_element(numbers);
    return *min == *max ? fmt::format("{}", *min) : fmt::format("{} to {}", *min, *max);
}

// A node is crowded if its ranks may together use fewer cores than there are ranks. Describes the first crowded
// node. Returns an empty text if no node is crowded.
std::string describe_crowded_node(const Facts& facts) {
    for (const auto& [node, ranks] : group_ranks_by_node(facts.ranks)) {
        std::set<int> cores;
        for (const int rank : ranks)
            cores.insert(find_rank(facts, rank).cores.begin(), find_rank(facts, rank).cores.end());
        if (ranks.size() <= cores.size()) continue;
        const auto node_cores = static_cast<std::size_t>(find_rank(facts, node).node_cores);
        return fmt::format(
            "{} on {} share {} of its {}: {}", format_count(ranks.size(), "rank"), find_rank(facts, node).host,
            cores.size(), format_count(node_cores, "core"),
            node_cores < ranks.size()
                ? "start fewer ranks per host"
                : "give each rank a core of its own (srun --cpus-per-task=1, mpirun --bind-to core)");
    }
    return {};
}

Finding judge_cores(const Facts& facts) {
    std::vector<std::size_t> core_counts;
    std::vector<int> thread_counts;
    for (const RankFacts& rank : facts.ranks) {
        core_counts.push_back(rank.cores.size());
        thread_counts.push_back(rank.threads);
    }
    return {.name = "cores",
            .status = Status::ok,
            .text = fmt::format("{} per rank; threads per rank: {}; rank 0 may use {} of the cores 0-{}",
                                format_range(core_counts), format_range(thread_counts),
                                format_ranges(facts.ranks.front().cores), facts.ranks.front().node_cores - 1),
            .advice = describe_crowded_node(facts)};
}

Finding judge_processors(const Facts& facts) {
    std::map<std::string, std::vector<int>> ranks_by_processor;
    for (std::size_t rank = 0; rank < facts.ranks.size(); ++rank)
        ranks_by_processor[facts.ranks[rank].processor].push_back(static_cast<int>(rank));
    std::string text;
    for (const auto& [name, ranks] : ranks_by_processor) {
        text += text.empty() ? "" : "; ";
        text += name;
        if (ranks_by_processor.size() > 1)
            text += fmt::format(" ({} {})", ranks.size() == 1 ? "rank" : "ranks", format_ranges(ranks));
    }
    return {.name = "processor", .status = Status::ok, .text = text};
}

Finding judge_memory(const Facts& facts) {
    constexpr double giga = 1e9;
    const RankFacts& fullest = *std::ranges::min_element(facts.ranks, {}, &RankFacts::available_bytes);
    const std::size_t nodes = group_ranks_by_node(facts.ranks).size();
    if (!fullest.memory_group.empty())
        return {.name = "memory",
                .status = Status::ok,
                .text = fmt::format("{:.1f} GB available on {}: the memory control group {} limits memory to "
                                    "{:.1f} GB of {:.1f} GB",
                                    fullest.available_bytes / giga, fullest.host, fullest.memory_group,
                                    fullest.memory_group_bytes / giga, fullest.node_bytes / giga)};
    if (fullest.available_bytes == 0)
        return {.name = "memory",
                .status = Status::ok,
                .text = fmt::format("{:.1f} GB on {}; how much of it is available is unknown",
                                    fullest.node_bytes / giga, fullest.host)};
    return {.name = "memory",
            .status = Status::ok,
            .text = fmt::format("{:.1f} GB of {:.1f} GB available on {}{}", fullest.available_bytes / giga,
                                fullest.node_bytes / giga, fullest.host,
                                nodes > 1 ? ", the host with the least" : "")};
}

Finding judge_arithmetic(const Facts& facts) {
    constexpr double giga = 1e9;
    constexpr double slow_rate_fraction = 0.7;  // of the median; a slower rank delays the job
    std::vector<double> rates;
    for (const RankFacts& rank : facts.ranks) rates.push_back(rank.flops);
    const auto slowest = std::ranges::min_element(rates);
    const double median = compute_median(rates);
    const double sum = std::accumulate(rates.begin(), rates.end(), 0.0);
    const auto slowest_rank = static_cast<int>(slowest - rates.begin());
    Finding finding{.name = "arithmetic",
                    .status = Status::ok,
                    .text = fmt::format("{:.1f} GFLOP/s in f32, the total of {}", sum / giga,
                                        format_count(rates.size(), "rank"))};
    // On a crowded node the finding about cores already explains why ranks are slow.
    if (*slowest < slow_rate_fraction * median && describe_crowded_node(facts).empty())
        finding.advice = fmt::format(
            "rank {0} on {1} reaches {2:.1f} GFLOP/s, the median rank {3:.1f}: all other ranks will wait for "
            "rank {0} (see --straggler)",
            slowest_rank, find_rank(facts, slowest_rank).host, *slowest / giga, median / giga);
    return finding;
}

}  // namespace

std::vector<Finding> judge_machine(const Facts& facts) {
    std::vector<Finding> all{judge_cores(facts), judge_processors(facts), judge_memory(facts),
                             judge_arithmetic(facts), judge_gpus(facts)};
    for (Finding& finding : judge_gpu_states(facts)) all.push_back(std::move(finding));
    return all;
}

}  // namespace trireme::tools::doctor
