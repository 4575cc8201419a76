#include <fmt/format.h>

#include <algorithm>

#include "tools/doctor/findings.hpp"

namespace trireme::tools::doctor {
namespace {

// Returns the first rank whose scratch test has a failure in `member`; nullptr if there is none.
const RankFacts* find_first_failure(const Facts& facts, std::string ScratchFacts::*member) {
    const auto failed = std::ranges::find_if(
        facts.ranks, [&](const RankFacts& rank) { return rank.scratch && !((*rank.scratch).*member).empty(); });
    return failed == facts.ranks.end() ? nullptr : &*failed;
}

// Returns the rank whose scratch test has the lowest value of `member`.
const RankFacts& find_min_rank(const Facts& facts, double ScratchFacts::*member) {
    const RankFacts* min_rank = nullptr;
    for (const RankFacts& rank : facts.ranks) {
        if (!rank.scratch) continue;
        if (min_rank == nullptr || (*rank.scratch).*member < (*min_rank->scratch).*member) min_rank = &rank;
    }
    return *min_rank;  // the first rank of each node has run the test
}

Finding judge_hdf5(const Facts& facts) {
    if (find_first_failure(facts, &ScratchFacts::failure) != nullptr)
        return {.name = "HDF5",
                .status = Status::fails,
                .text = facts.hdf5 + " was not tried: there is no scratch folder to try it in",
                .advice = "see scratch"};
    if (const RankFacts* rank = find_first_failure(facts, &ScratchFacts::hdf5_failure))
        return {.name = "HDF5",
                .status = Status::fails,
                .text = fmt::format("{} on {}: {}", facts.hdf5, rank->host, rank->scratch->hdf5_failure)};
    return {.name = "HDF5",
            .status = Status::ok,
            .text = facts.hdf5 + ": what was written came back with its sums"};
}

Finding judge_scratch(const Facts& facts) {
    constexpr double mega = 1e6;
    constexpr double giga = 1e9;
    if (const RankFacts* rank = find_first_failure(facts, &ScratchFacts::failure))
        return {.name = "scratch",
                .status = Status::fails,
                .text = fmt::format("on {}: {}", rank->host, rank->scratch->failure)};
    const RankFacts& writer = find_min_rank(facts, &ScratchFacts::written_bytes_per_s);
    const RankFacts& reader = find_min_rank(facts, &ScratchFacts::read_bytes_per_s);
    std::string text =
        fmt::format("{}: writes {:.0f} MB/s, reads {:.0f} MB/s, {:.1f} GB free", facts.scratch,
                    writer.scratch->written_bytes_per_s / mega, reader.scratch->read_bytes_per_s / mega,
                    find_min_rank(facts, &ScratchFacts::free_bytes).scratch->free_bytes / giga);
    const std::size_t nodes = group_ranks_by_node(facts.ranks).size();
    if (nodes > 1) text += fmt::format("; of {} hosts at once, slowest {}", nodes, writer.host);
    return {.name = "scratch", .status = Status::ok, .text = text};
}

std::string describe(const PairFacts& pair) {
    return fmt::format("{:.2f} us, {:.2f} GB/s between ranks {} and {}", 1e6 * pair.seconds,
                       1e-9 * pair.bytes_per_s, pair.first, pair.second);
}

Finding judge_link_inside_host(const PairFacts& pair) {
    return {.name = "link inside", .status = Status::ok, .text = describe(pair) + " of one host"};
}

Finding judge_links_between_hosts(const Facts& facts, const std::vector<PairFacts>& pairs) {
    constexpr double slow_bandwidth_fraction = 0.5;  // of the best bandwidth; noise makes smaller differences
    const PairFacts& best = *std::ranges::max_element(pairs, {}, &PairFacts::bytes_per_s);
    const PairFacts& worst = *std::ranges::min_element(pairs, {}, &PairFacts::bytes_per_s);
    Finding finding{.name = "link between", .status = Status::ok, .text = describe(best) + " of two hosts"};
    if (pairs.size() > 1) finding.text = "best " + finding.text + "; worst " + describe(worst);
    if (worst.bytes_per_s < slow_bandwidth_fraction * best.bytes_per_s)
        // The first rank of every pair is rank 0, so the other host is the slow one.
        finding.advice = fmt::format("see to the network of {}, or leave it out (srun --exclude)",
                                     facts.ranks[static_cast<std::size_t>(worst.second)].host);
    return finding;
}

}  // namespace

std::vector<Finding> judge_speeds(const Facts& facts) {
    std::vector<Finding> findings{judge_hdf5(facts), judge_scratch(facts)};
    std::vector<PairFacts> pairs_between_hosts;
    for (const PairFacts& pair : facts.pairs) {
        const auto find_node = [&](int rank) { return facts.ranks[static_cast<std::size_t>(rank)].node; };
        if (find_node(pair.first) == find_node(pair.second)) {
            findings.push_back(judge_link_inside_host(pair));
        } else {
            pairs_between_hosts.push_back(pair);
        }
    }
    if (!pairs_between_hosts.empty()) findings.push_back(judge_links_between_hosts(facts, pairs_between_hosts));
    if (facts.pairs.empty())
        findings.push_back({.name = "links",
                            .status = Status::missing,
                            .text = "not measured: there is only one rank",
                            .advice = "mpirun -n 2 trireme doctor, or srun in a job, measures them"});
    return findings;
}

}  // namespace trireme::tools::doctor
