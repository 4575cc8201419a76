#include <fmt/format.h>

#include <algorithm>

#include "tools/doctor/findings.hpp"

namespace trireme::tools::doctor {
namespace {

// Returns the first rank whose scratch facts have a non-empty `member`, or nullptr if there is none. `member`
// is the text of a failure, and empty without a failure.
const RankFacts* find_first_failure(const Facts& facts, std::string ScratchFacts::*member) {
    const auto failed = std::ranges::find_if(
        facts.ranks, [&](const RankFacts& rank) { return rank.scratch && !((*rank.scratch).*member).empty(); });
    return failed == facts.ranks.end() ? nullptr : &*failed;
}

// Returns the rank with the lowest value of `member` in its scratch test.
const RankFacts& find_rank_with_min(const Facts& facts, double ScratchFacts::*member) {
    const RankFacts* rank_with_min = nullptr;
    for (const RankFacts& rank : facts.ranks) {
        if (!rank.scratch) continue;
        if (rank_with_min == nullptr || (*rank.scratch).*member < (*rank_with_min->scratch).*member)
            rank_with_min = &rank;
    }
    return *rank_with_min;  // not null: the first rank of each node has run the test
}

Finding judge_hdf5(const Facts& facts) {
    if (find_first_failure(facts, &ScratchFacts::failure) != nullptr)
        return {.name = "HDF5",
                .status = Status::fails,
                .text = facts.hdf5 + " was not tested, because the test of the scratch folder failed",
                .advice = "repair the scratch folder first"};
    if (const RankFacts* rank = find_first_failure(facts, &ScratchFacts::hdf5_failure))
        return {.name = "HDF5",
                .status = Status::fails,
                .text = fmt::format("{} on {}: {}", facts.hdf5, rank->host, rank->scratch->hdf5_failure)};
    return {.name = "HDF5",
            .status = Status::ok,
            .text = facts.hdf5 + ": a file was written and read back with equal checksums"};
}

Finding judge_scratch(const Facts& facts) {
    constexpr double mega = 1e6;
    constexpr double giga = 1e9;
    if (const RankFacts* rank = find_first_failure(facts, &ScratchFacts::failure))
        return {.name = "scratch",
                .status = Status::fails,
                .text = fmt::format("on {}: {}", rank->host, rank->scratch->failure)};
    const RankFacts& slowest_writer = find_rank_with_min(facts, &ScratchFacts::written_bytes_per_s);
    const RankFacts& slowest_reader = find_rank_with_min(facts, &ScratchFacts::read_bytes_per_s);
    std::string text = fmt::format(
        "{}: writes {:.0f} MB/s, reads {:.0f} MB/s, {:.1f} GB free", facts.scratch,
        slowest_writer.scratch->written_bytes_per_s / mega, slowest_reader.scratch->read_bytes_per_s / mega,
        find_rank_with_min(facts, &ScratchFacts::free_bytes).scratch->free_bytes / giga);
    const std::size_t node_count = group_ranks_by_node(facts.ranks).size();
    if (node_count > 1)
        text += fmt::format("; lowest values of {} hosts at once, {} writes slowest", node_count,
                            slowest_writer.host);
    return {.name = "scratch", .status = Status::ok, .text = text};
}

std::string describe(const PairFacts& pair) {
    return fmt::format("{:.2f} us, {:.2f} GB/s between ranks {} and {}", 1e6 * pair.seconds,
                       1e-9 * pair.bytes_per_s, pair.first, pair.second);
}

Finding judge_link_inside_host(const PairFacts& pair) {
    return {.name = "link inside", .status = Status::ok, .text = describe(pair) + " on one host"};
}

// Judges the links between rank 0 and the first ranks of other hosts. `pairs` must not be empty.
Finding judge_links_between_hosts(const Facts& facts, const std::vector<PairFacts>& pairs) {
    // A link is slow if it has less than this fraction of the best bandwidth. Smaller differences can
    // be noise.
    constexpr double slow_bandwidth_fraction = 0.5;
    const PairFacts& best = *std::ranges::max_element(pairs, {}, &PairFacts::bytes_per_s);
    const PairFacts& worst = *std::ranges::min_element(pairs, {}, &PairFacts::bytes_per_s);
    Finding finding{.name = "link between", .status = Status::ok, .text = describe(best) + " on two hosts"};
    if (pairs.size() > 1) finding.text = "best " + finding.text + "; worst " + describe(worst);
    if (worst.bytes_per_s < slow_bandwidth_fraction * best.bytes_per_s)
        // All pairs begin with rank 0, so the host of the second rank is the slow one.
        finding.advice = fmt::format("check the network of {}, or exclude this host (srun --exclude)",
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
        findings.push_back(
            {.name = "links",
             .status = Status::missing,
             .text = "not measured: there is only one rank",
             .advice = "to measure links, run mpirun -n 2 trireme doctor, or srun trireme doctor in a job"});
    return findings;
}

}  // namespace trireme::tools::doctor
