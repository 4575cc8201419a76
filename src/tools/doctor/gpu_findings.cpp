#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "tools/doctor/findings.hpp"
#include "trireme/base/numbers.hpp"

namespace trireme::tools::doctor {
namespace {

// Describes the first rank without a usable GPU. Returns an empty text if all ranks have one.
std::string describe_rank_without_gpu(const std::vector<RankFacts>& ranks) {
    const auto found = std::ranges::find_if(ranks, [](const RankFacts& rank) { return rank.gpus.empty(); });
    if (found == ranks.end()) return {};
    return fmt::format("rank {} finds no GPU on {}, but other ranks find some", found - ranks.begin(),
                       found->host);
}

// Describes the first two ranks that share a GPU. Returns an empty text if each rank has its own. Every rank
// must see a GPU.
std::string describe_shared_gpu(const std::vector<RankFacts>& ranks) {
    const auto chosen_gpus = choose_gpus(ranks);
    for (const auto& [node, node_ranks] : group_ranks_by_node(ranks)) {
        std::map<std::string, int> rank_by_gpu;
        for (const int rank : node_ranks) {
            const Gpu& gpu = *chosen_gpus[static_cast<std::size_t>(rank)];
            const auto [first_user, is_first] = rank_by_gpu.emplace(gpu.id, rank);
            if (!is_first)
                return fmt::format(
                    "ranks {} and {} share {} {} of {}: messages go through host memory, and each rank gets "
                    "only "
                    "a fraction of the GPU's time and memory",
                    first_user->second, rank, gpu.model, gpu.id, ranks[static_cast<std::size_t>(node)].host);
        }
    }
    return {};
}

// Returns the models of the GPUs that the ranks would use, for example "8 x NVIDIA H100 80GB HBM3". A GPU
// counts once for each of its ranks.
std::string describe_models(const std::vector<RankFacts>& ranks) {
    std::map<std::string, int> counts;
    for (const std::optional<Gpu>& gpu : choose_gpus(ranks))
        if (gpu) counts[gpu->model] += 1;
    std::string text;
    for (const auto& [model, count] : counts)
        text += fmt::format("{}{} x {}", text.empty() ? "" : ", ", count, model);
    return text;
}

// Called if no rank may use a GPU. Says whether a node has GPUs.
std::string describe_missing_gpus(const std::vector<RankFacts>& ranks) {
    const RankFacts& rank = *std::ranges::max_element(ranks, {}, &RankFacts::node_gpus);
    if (rank.node_gpus == 0) return "no NVIDIA device was found";
    return fmt::format("{} has {}, but no rank may use a GPU", rank.host,
                       format_count(static_cast<std::size_t>(rank.node_gpus), "NVIDIA device"));
}

// Judges the GPUs of the machine as if this program were built with CUDA.
Finding judge_found_gpus(const std::vector<RankFacts>& ranks) {
    const bool has_usable_gpu =
        std::ranges::any_of(ranks, [](const RankFacts& rank) { return !rank.gpus.empty(); });
    if (!has_usable_gpu) {
        const bool has_gpu =
            std::ranges::any_of(ranks, [](const RankFacts& rank) { return rank.node_gpus > 0; });
        return {
            .name = "GPUs",
            .status = Status::missing,
            .text = describe_missing_gpus(ranks),
            .advice = has_gpu ? "request GPUs (srun --gpus-per-task=1), or check CUDA_VISIBLE_DEVICES" : ""};
    }
    for (const RankFacts& rank : ranks) {
        if (rank.gpus.empty() || rank.cuda_complaint.empty()) continue;
        return {.name = "GPUs",
                .status = Status::fails,
                .text = fmt::format("{}: {}", rank.host, rank.cuda_complaint),
                .advice =
                    "check whether nvidia-smi works on this host, and which CUDA version its driver supports"};
    }
    constexpr const char* advice =
        "start one rank per GPU of the node, or request more GPUs (srun --gpus-per-task=1)";
    const std::string rank_without_gpu = describe_rank_without_gpu(ranks);
    if (!rank_without_gpu.empty())
        return {.name = "GPUs", .status = Status::fails, .text = rank_without_gpu, .advice = advice};
    const std::string shared_gpu = describe_shared_gpu(ranks);
    if (!shared_gpu.empty())
        return {.name = "GPUs", .status = Status::missing, .text = shared_gpu, .advice = advice};
    return {.name = "GPUs", .status = Status::ok, .text = describe_models(ranks) + ", one per rank"};
}

}  // namespace

std::vector<std::optional<Gpu>> choose_gpus(const std::vector<RankFacts>& ranks) {
    std::vector<std::optional<Gpu>> chosen_gpus(ranks.size());
    for (const auto& [node, node_ranks] : group_ranks_by_node(ranks)) {
        for (std::size_t local_rank = 0; local_rank < node_ranks.size(); ++local_rank) {
            const auto rank = static_cast<std::size_t>(node_ranks[local_rank]);
            chosen_gpus[rank] = choose_gpu(ranks[rank].gpus, static_cast<int>(local_rank));
        }
    }
    return chosen_gpus;
}

// A build without CUDA trains on cores, so the status of its finding is `missing` and never `fails`.
Finding judge_gpus(const Facts& facts) {
    Finding finding = judge_found_gpus(facts.ranks);
    if (facts.has_cuda) return finding;
    return {.name = "GPUs",
            .status = Status::missing,
            .text = "built without CUDA, so kernels run on CPU cores; " + finding.text,
            .advice =
                "install CUDA 12 or later (module load cuda; NVIDIA's repository: cuda-toolkit; Spack: cuda), "
                "then build Trireme again"};
}

}  // namespace trireme::tools::doctor
