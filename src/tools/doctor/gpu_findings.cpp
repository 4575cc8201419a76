#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "tools/doctor/findings.hpp"
#include "trireme/base/numbers.hpp"

namespace trireme::tools::doctor {
namespace {

// Describes the first rank without a GPU if others have one. Empty if all ranks have one.
std::string rank_without(const std::vector<RankFacts>& ranks) {
    const auto found = std::ranges::find_if(ranks, [](const RankFacts& rank) { return rank.gpus.empty(); });
    if (found == ranks.end()) return {};
    return fmt::format("rank {} finds none on {}, and others have some", found - ranks.begin(), found->host);
}

// Describes the first two ranks that share a GPU. Empty if each rank has its own.
std::string sharers(const std::vector<RankFacts>& ranks) {
    const auto taken = gpus_taken(ranks);
    for (const auto& [node, own] : ranks_of_nodes(ranks)) {
        std::map<std::string, int> takers;
        for (const int rank : own) {
            const Gpu& gpu = *taken[static_cast<std::size_t>(rank)];
            const auto [other, is_first] = takers.emplace(gpu.id, rank);
            if (!is_first)
                return fmt::format(
                    "ranks {} and {} share {} {} of {}: messages go by the machine's memory, and each has a "
                    "part of its time and of its memory",
                    other->second, rank, gpu.model, gpu.id, ranks[static_cast<std::size_t>(node)].host);
        }
    }
    return {};
}

// Returns "8 x NVIDIA H100 80GB HBM3" for the GPUs that ranks would use.
std::string models(const std::vector<RankFacts>& ranks) {
    std::map<std::string, int> counts;
    for (const std::optional<Gpu>& gpu : gpus_taken(ranks))
        if (gpu) counts[gpu->model] += 1;
    std::string text;
    for (const auto& [model, count] : counts)
        text += fmt::format("{}{} x {}", text.empty() ? "" : ", ", count, model);
    return text;
}

// Says, if no rank may use a GPU, whether a machine has one.
std::string without_any(const std::vector<RankFacts>& ranks) {
    const RankFacts& most = *std::ranges::max_element(ranks, {}, &RankFacts::node_gpus);
    if (most.node_gpus == 0) return "no NVIDIA device is here";
    return fmt::format("{} has {}, of which no rank may use one", most.host,
                       counted(static_cast<std::size_t>(most.node_gpus), "NVIDIA device"));
}

// Judges the GPUs of the machine, whether or not this program was built for them.
Finding found(const std::vector<RankFacts>& ranks) {
    const bool is_any = std::ranges::any_of(ranks, [](const RankFacts& rank) { return !rank.gpus.empty(); });
    if (!is_any) {
        const bool is_shown =
            std::ranges::any_of(ranks, [](const RankFacts& rank) { return rank.node_gpus > 0; });
        return {.name = "GPUs",
                .status = Status::missing,
                .text = without_any(ranks),
                .advice = is_shown ? "ask for them: srun --gpus-per-task=1; or see CUDA_VISIBLE_DEVICES" : ""};
    }
    for (const RankFacts& rank : ranks) {
        if (rank.gpus.empty() || rank.cuda_complaint.empty()) continue;
        return {.name = "GPUs",
                .status = Status::fails,
                .text = fmt::format("{}: {}", rank.host, rank.cuda_complaint),
                .advice = "see whether nvidia-smi works there, and which CUDA its driver is for"};
    }
    constexpr const char* advice =
        "start as many ranks on a node as it has devices, or ask for more: srun --gpus-per-task=1";
    const std::string without = rank_without(ranks);
    if (!without.empty()) return {.name = "GPUs", .status = Status::fails, .text = without, .advice = advice};
    const std::string shared = sharers(ranks);
    if (!shared.empty()) return {.name = "GPUs", .status = Status::missing, .text = shared, .advice = advice};
    return {.name = "GPUs", .status = Status::ok, .text = models(ranks) + ", one for a rank"};
}

}  // namespace

std::vector<std::optional<Gpu>> gpus_taken(const std::vector<RankFacts>& ranks) {
    std::vector<std::optional<Gpu>> taken(ranks.size());
    for (const auto& [node, own] : ranks_of_nodes(ranks)) {
        for (std::size_t place = 0; place < own.size(); ++place) {
            const auto rank = static_cast<std::size_t>(own[place]);
            taken[rank] = gpu_of_rank(ranks[rank].gpus, static_cast<int>(place));
        }
    }
    return taken;
}

// A program without CUDA can still train, so that is no failure.
Finding gpu_finding(const Facts& facts) {
    Finding finding = found(facts.ranks);
    if (facts.has_cuda) return finding;
    return {.name = "GPUs",
            .status = Status::missing,
            .text = "built without CUDA: kernels run on cores; " + finding.text,
            .advice =
                "CUDA 12 or later: module load cuda; NVIDIA's repository: cuda-toolkit; Spack: cuda; "
                "then build again"};
}

}  // namespace trireme::tools::doctor
