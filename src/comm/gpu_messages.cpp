#include "trireme/comm/gpu_messages.hpp"

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

// Returns "rank 3", "ranks 0 and 1" or "ranks 0, 1 and 5".
std::string text_of_ranks(const std::vector<std::size_t>& ranks) {
    std::string text = ranks.size() == 1 ? "rank " : "ranks ";
    for (std::size_t i = 0; i < ranks.size(); ++i) {
        if (i > 0) text += i + 1 == ranks.size() ? " and " : ", ";
        text += std::to_string(ranks[i]);
    }
    return text;
}

// Groups ranks by the key that `key_of` returns, in ascending order of the key.
template <class KeyOf>
auto grouped(const std::vector<GpuAddress>& ranks, KeyOf&& key_of) {
    std::map<decltype(key_of(ranks.front())), std::vector<std::size_t>> groups;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) groups[key_of(ranks[rank])].push_back(rank);
    return groups;
}

std::optional<std::string> who_shares(const std::vector<GpuAddress>& ranks) {
    const auto address_of = [](const GpuAddress& rank) { return std::pair(rank.host, rank.bus_id); };
    for (const auto& [place, sharers] : grouped(ranks, address_of)) {
        if (sharers.size() < 2) continue;
        return cat(text_of_ranks(sharers), " share ", ranks[sharers.front()].name, " ", place.second, " of ",
                   place.first);
    }
    return std::nullopt;
}

std::optional<std::string> who_has_none(const std::vector<GpuAddress>& ranks) {
    const auto complaint_of = [](const GpuAddress& rank) { return rank.nccl_complaint; };
    for (const auto& [complaint, complainers] : grouped(ranks, complaint_of)) {
        if (complaint.empty()) continue;
        return cat("on ", text_of_ranks(complainers), ", ", complaint);
    }
    return std::nullopt;
}

std::optional<std::string> who_differs(const std::vector<GpuAddress>& ranks) {
    const auto version_of = [](const GpuAddress& rank) { return rank.nccl_version; };
    const auto versions = grouped(ranks, version_of);
    if (versions.size() == 1) return std::nullopt;
    std::string text = "versions of NCCL differ:";
    for (const auto& [version, users] : versions)
        text +=
            cat(text.back() == ':' ? " " : ", ", text_of_nccl_version(version), " on ", text_of_ranks(users));
    return text;
}

std::string line_of(const GpuAddress& rank) {
    return cat(rank.host, "\n", rank.name, "\n", rank.bus_id, "\n", rank.nccl_version, "\n",
               rank.nccl_complaint);
}

GpuAddress read_line(const std::string& line) {
    std::istringstream text(line);
    GpuAddress rank;
    std::string version;
    std::getline(text, rank.host);
    std::getline(text, rank.name);
    std::getline(text, rank.bus_id);
    std::getline(text, version);
    rank.nccl_version = std::stoi(version);
    rank.nccl_complaint.assign(std::istreambuf_iterator<char>(text), {});
    return rank;
}

}  // namespace

GpuMessages choose_gpu_messages(const std::vector<GpuAddress>& ranks) {
    auto obstacle = who_shares(ranks);
    if (!obstacle) obstacle = who_has_none(ranks);
    if (!obstacle) obstacle = who_differs(ranks);
    if (obstacle) return {.is_by_nccl = false, .sentence = cat("by the machine's memory: ", *obstacle)};
    return {.is_by_nccl = true, .sentence = cat("NCCL ", text_of_nccl_version(ranks.front().nccl_version))};
}

GpuMessages choose_gpu_messages(Communicator& group, const std::string& host, const device::GpuFacts& gpu,
                                const NcclSearch& nccl) {
    const GpuAddress own{.host = host,
                         .name = gpu.name,
                         .bus_id = gpu.bus_id,
                         .nccl_version = nccl.version,
                         .nccl_complaint = nccl.complaint};
    std::vector<GpuAddress> ranks;
    for (const std::string& line : gather_all(group, line_of(own))) ranks.push_back(read_line(line));
    return choose_gpu_messages(ranks);
}

std::vector<RankPair> every_pair_of(int ranks) {
    std::vector<RankPair> pairs;
    for (int from = 0; from < ranks; ++from)
        for (int to = 0; to < ranks; ++to)
            if (from != to) pairs.emplace_back(from, to);
    return pairs;
}

// Versions before 2.9 use another encoding (2708 for 2.7.8), but are too old to be used.
std::string text_of_nccl_version(int version) {
    return cat(version / 10'000, ".", version / 100 % 100, ".", version % 100);
}

}  // namespace trireme::comm
