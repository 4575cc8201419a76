#include <fmt/format.h>

#include <algorithm>

#include "tools/doctor/findings.hpp"

namespace trireme::tools::doctor {
namespace {

// Returns the first rank whose scratch test has a text in `what`, or nullptr.
const RankFacts* first_failure(const Facts& facts, std::string ScratchFacts::*what) {
    const auto failed = std::ranges::find_if(
        facts.ranks, [&](const RankFacts& rank) { return rank.scratch && !((*rank.scratch).*what).empty(); });
    return failed == facts.ranks.end() ? nullptr : &*failed;
}

// Returns the rank of the node with the lowest figure.
const RankFacts& least(const Facts& facts, double ScratchFacts::*what) {
    const RankFacts* least = nullptr;
    for (const RankFacts& rank : facts.ranks) {
        if (!rank.scratch) continue;
        if (least == nullptr || (*rank.scratch).*what < (*least->scratch).*what) least = &rank;
    }
    return *least;  // the first rank of each node has run the test
}

Finding hdf5_finding(const Facts& facts) {
    if (first_failure(facts, &ScratchFacts::failure) != nullptr)
        return {.name = "HDF5",
                .status = Status::fails,
                .text = facts.hdf5 + " was not tried: there is no scratch folder to try it in",
                .advice = "see scratch"};
    if (const RankFacts* rank = first_failure(facts, &ScratchFacts::hdf5_failure))
        return {.name = "HDF5",
                .status = Status::fails,
                .text = fmt::format("{} on {}: {}", facts.hdf5, rank->host, rank->scratch->hdf5_failure)};
    return {.name = "HDF5",
            .status = Status::ok,
            .text = facts.hdf5 + ": what was written came back with its sums"};
}

Finding scratch_finding(const Facts& facts) {
    constexpr double mega = 1e6;
    constexpr double giga = 1e9;
    if (const RankFacts* rank = first_failure(facts, &ScratchFacts::failure))
        return {.name = "scratch",
                .status = Status::fails,
                .text = fmt::format("on {}: {}", rank->host, rank->scratch->failure)};
    const RankFacts& writer = least(facts, &ScratchFacts::written_bytes_per_s);
    const RankFacts& reader = least(facts, &ScratchFacts::read_bytes_per_s);
    std::string text =
        fmt::format("{}: writes {:.0f} MB/s, reads {:.0f} MB/s, {:.1f} GB free", facts.scratch,
                    writer.scratch->written_bytes_per_s / mega, reader.scratch->read_bytes_per_s / mega,
                    least(facts, &ScratchFacts::free_bytes).scratch->free_bytes / giga);
    const std::size_t nodes = ranks_of_nodes(facts.ranks).size();
    if (nodes > 1) text += fmt::format("; of {} hosts at once, slowest {}", nodes, writer.host);
    return {.name = "scratch", .status = Status::ok, .text = text};
}

std::string words_of(const PairFacts& pair) {
    return fmt::format("{:.2f} us, {:.2f} GB/s between ranks {} and {}", 1e6 * pair.seconds,
                       1e-9 * pair.bytes_per_s, pair.first, pair.second);
}

Finding inside_finding(const PairFacts& pair) {
    return {.name = "link inside", .status = Status::ok, .text = words_of(pair) + " of one host"};
}

Finding between_finding(const Facts& facts, const std::vector<PairFacts>& pairs) {
    constexpr double slow_share = 0.5;  // fraction of the best bandwidth; noise is less
    const PairFacts& best = *std::ranges::max_element(pairs, {}, &PairFacts::bytes_per_s);
    const PairFacts& worst = *std::ranges::min_element(pairs, {}, &PairFacts::bytes_per_s);
    Finding finding{.name = "link between", .status = Status::ok, .text = words_of(best) + " of two hosts"};
    if (pairs.size() > 1) finding.text = "best " + finding.text + "; worst " + words_of(worst);
    if (worst.bytes_per_s < slow_share * best.bytes_per_s)
        finding.advice = fmt::format("see to the network of {}, or leave it out (srun --exclude)",
                                     facts.ranks[static_cast<std::size_t>(worst.second)].host);
    return finding;
}

}  // namespace

std::vector<Finding> speed_findings(const Facts& facts) {
    std::vector<Finding> findings{hdf5_finding(facts), scratch_finding(facts)};
    std::vector<PairFacts> between;
    for (const PairFacts& pair : facts.pairs) {
        const auto node_of = [&](int rank) { return facts.ranks[static_cast<std::size_t>(rank)].node; };
        if (node_of(pair.first) == node_of(pair.second)) {
            findings.push_back(inside_finding(pair));
        } else {
            between.push_back(pair);
        }
    }
    if (!between.empty()) findings.push_back(between_finding(facts, between));
    if (facts.pairs.empty())
        findings.push_back({.name = "links",
                            .status = Status::missing,
                            .text = "not measured: there is only one rank",
                            .advice = "mpirun -n 2 trireme doctor, or srun in a job, measures them"});
    return findings;
}

}  // namespace trireme::tools::doctor
