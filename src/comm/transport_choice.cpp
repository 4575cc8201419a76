#include "trireme/comm/transport_choice.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <sstream>
#include <utility>

#include "trireme/comm/collectives.hpp"
#include "trireme/comm/nccl.hpp"

namespace trireme::comm {
namespace {

// Returns, for example, "rank 3", "ranks 0 and 1" or "ranks 0, 1 and 5".
std::string ranks_to_string(const std::vector<std::size_t>& ranks) {
    std::string text = ranks.size() == 1 ? "rank " : "ranks ";
    for (std::size_t i = 0; i < ranks.size(); ++i) {
        if (i > 0) text += i + 1 == ranks.size() ? " and " : ", ";
        text += std::to_string(ranks[i]);
    }
    return text;
}

// Groups ranks by the key that `make_key` returns, in ascending order of the key.
template <class MakeKey>
auto group_ranks(const std::vector<TransportFacts>& ranks, MakeKey&& make_key) {
    std::map<decltype(make_key(ranks.front())), std::vector<std::size_t>> groups;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) groups[make_key(ranks[rank])].push_back(rank);
    return groups;
}

std::optional<std::string> describe_shared_gpu(const std::vector<TransportFacts>& ranks) {
    const auto get_address = [](const TransportFacts& rank) { return std::pair(rank.host, rank.bus_id); };
    for (const auto& [address, sharing_ranks] : group_ranks(ranks, get_address)) {
        if (sharing_ranks.size() < 2) continue;
        return cat(ranks_to_string(sharing_ranks), " share ", ranks[sharing_ranks.front()].name, " ",
                   address.second, " of ", address.first);
    }
    return std::nullopt;
}

std::optional<std::string> describe_missing_nccl(const std::vector<TransportFacts>& ranks) {
    const auto get_complaint = [](const TransportFacts& rank) { return rank.nccl_complaint; };
    for (const auto& [complaint, affected_ranks] : group_ranks(ranks, get_complaint)) {
        if (complaint.empty()) continue;
        return cat("on ", ranks_to_string(affected_ranks), ", ", complaint);
    }
    return std::nullopt;
}

std::optional<std::string> describe_version_difference(const std::vector<TransportFacts>& ranks) {
    const auto get_version = [](const TransportFacts& rank) { return rank.nccl_version; };
    const auto versions = group_ranks(ranks, get_version);
    if (versions.size() == 1) return std::nullopt;
    std::string text = "the ranks have different versions of NCCL:";
    for (const auto& [version, users] : versions)
        text += cat(text.back() == ':' ? " " : ", ", nccl_version_to_string(version), " on ",
                    ranks_to_string(users));
    return text;
}

// Returns a text with one line for each member. Only the last member, the complaint, may have several lines.
std::string facts_to_text(const TransportFacts& facts) {
    return cat(facts.host, "\n", facts.name, "\n", facts.bus_id, "\n", facts.nccl_version, "\n",
               facts.nccl_complaint);
}

TransportFacts parse_facts(const std::string& text) {
    std::istringstream lines(text);
    TransportFacts facts;
    std::string version;
    std::getline(lines, facts.host);
    std::getline(lines, facts.name);
    std::getline(lines, facts.bus_id);
    std::getline(lines, version);
    facts.nccl_version = std::stoi(version);
    facts.nccl_complaint.assign(std::istreambuf_iterator<char>(lines), {});  // may have several lines
    return facts;
}

}  // namespace

TransportChoice choose_transport(const std::vector<TransportFacts>& ranks) {
    auto obstacle = describe_shared_gpu(ranks);
    if (!obstacle) obstacle = describe_missing_nccl(ranks);
    if (!obstacle) obstacle = describe_version_difference(ranks);
    if (obstacle) return {.uses_nccl = false, .description = cat("staged through host memory: ", *obstacle)};
    return {.uses_nccl = true, .description = cat("NCCL ", nccl_version_to_string(ranks.front().nccl_version))};
}

TransportChoice choose_transport(Communicator& group, const std::string& host, const device::GpuFacts& gpu,
                                 const NcclSearch& nccl) {
    const TransportFacts own_facts{.host = host,
                                   .name = gpu.name,
                                   .bus_id = gpu.bus_id,
                                   .nccl_version = nccl.version,
                                   .nccl_complaint = nccl.complaint};
    std::vector<TransportFacts> ranks;
    for (const std::string& text : all_gather(group, facts_to_text(own_facts)))
        ranks.push_back(parse_facts(text));
    return choose_transport(ranks);
}

std::vector<RankPair> make_all_pairs(int ranks) {
    std::vector<RankPair> pairs;
    for (int from = 0; from < ranks; ++from)
        for (int to = 0; to < ranks; ++to)
            if (from != to) pairs.emplace_back(from, to);
    return pairs;
}

// Versions before 2.9 use another encoding (2708 for 2.7.8), but are too old to be used.
std::string nccl_version_to_string(int version) {
    return cat(version / 10'000, ".", version / 100 % 100, ".", version % 100);
}

}  // namespace trireme::comm
