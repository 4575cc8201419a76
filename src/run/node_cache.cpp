#include "run/node_cache.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "trireme/comm/collectives.hpp"
#include "trireme/device/machine.hpp"
#include "trireme/setup/sample_homes.hpp"

namespace trireme::run {
namespace {

// Returns the memory that remains on the node, and in its memory control group, when its ranks have allocated
// `node_bytes`.
std::size_t find_left_bytes(std::size_t node_bytes) {
    std::size_t left = std::numeric_limits<std::size_t>::max();
    for (const device::UsableMemory& memory : device::find_usable_memory())
        left = std::min(left, memory.available_bytes);
    return left - std::min(left, node_bytes);
}

// Returns the part of the free shared memory that the cache may use: other programs, and messages, need some.
std::size_t choose_shared_limit(std::size_t free_bytes, std::size_t reserved_bytes) {
    return (free_bytes - std::min(free_bytes, reserved_bytes)) / 8 * 7;
}

std::vector<std::uint32_t> list_lengths(const std::vector<data::Sample>& samples) {
    std::vector<std::uint32_t> lengths;
    lengths.reserve(samples.size());
    for (const data::Sample& sample : samples) lengths.push_back(sample.length);
    return lengths;
}

// Returns the sizes of the samples for the cache of a node.
cache::SampleSizes list_sizes(const setup::Job& job, int node) {
    return {.train = list_lengths(job.samples.train),
            .validation = list_lengths(job.samples.validation),
            .row_bytes = job.model.width * byte_size(job.dtype),
            .first = list_samples_of_node(job, node)};
}

}  // namespace

std::vector<std::shared_ptr<cache::SampleCache>> make_caches(const setup::Job& job,
                                                             const setup::RankMemory& rank_memory,
                                                             std::size_t shared_bytes,
                                                             const comm::Session& session,
                                                             const device::WaitPolicy& wait_policy) {
    const config::CacheConfig& config = job.config.policy.cache;
    if (config.mode == config::CacheMode::off) return {};
    std::unique_ptr<comm::NodeMemory> memory = session.make_node_memory(wait_policy);
    const std::size_t rank_bytes =
        job.memory_space == device::MemorySpace::gpu ? rank_memory.copy_beside_gpu : rank_memory.total();
    const auto ranks = static_cast<std::size_t>(memory->group().size());
    const std::size_t left_bytes = find_left_bytes(ranks * rank_bytes);
    std::size_t limit = config.memory_bytes > 0 ? std::min(config.memory_bytes, left_bytes) : left_bytes / 2;
    if (const auto free_bytes = memory->free_bytes())
        limit = std::min(limit, choose_shared_limit(*free_bytes, shared_bytes));
    const std::vector<double> limits = all_gather(memory->group(), std::array{static_cast<double>(limit)});
    std::vector<std::shared_ptr<cache::SampleCache>> caches(job.nodes.size());
    caches[static_cast<std::size_t>(session.rank())] =
        std::make_shared<cache::SampleCache>(std::move(memory), list_sizes(job, session.node()),
                                             static_cast<std::size_t>(*std::ranges::min_element(limits)));
    return caches;
}

std::vector<std::shared_ptr<cache::SampleCache>> make_ghost_caches(const setup::Job& job) {
    const config::CacheConfig& config = job.config.policy.cache;
    if (config.mode == config::CacheMode::off) return {};
    const std::size_t limit =
        config.memory_bytes > 0 ? config.memory_bytes : std::numeric_limits<std::size_t>::max();
    std::vector<std::shared_ptr<cache::SampleCache>> caches;
    for (std::size_t rank = 0; rank < job.nodes.size(); ++rank) {
        const auto node = static_cast<std::size_t>(job.nodes[rank]);
        caches.push_back(node < rank
                             ? caches[node]
                             : std::make_shared<cache::SampleCache>(list_sizes(job, job.nodes[rank]), limit));
    }
    return caches;
}

}  // namespace trireme::run
