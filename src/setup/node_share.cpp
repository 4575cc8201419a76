#include "trireme/setup/node_share.hpp"

#include <algorithm>
#include <array>
#include <sstream>

#include "setup/shared_memory_pool.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/comm/agreement.hpp"
#include "trireme/comm/collectives.hpp"
#include "trireme/device/clock.hpp"
#include "trireme/device/gpu.hpp"
#include "trireme/device/machine.hpp"

namespace trireme::setup {
namespace {

// Returns the key of the memory `identity`. All ranks that share this memory have the same key; other ranks
// have other keys. The ranks of a simulation share one process and its memory, although their host names
// differ.
std::string make_pool_key(const comm::Session& session, const std::string& identity) {
    return device::time_is_simulated() ? identity : cat(session.host(), ' ', identity);
}

SharedMemoryPool make_pool(const device::UsableMemory& memory, const comm::Session& session) {
    SharedMemoryPool pool{.key = make_pool_key(session, memory.identity),
                          .ranks = session.host(),
                          .name = "the node",
                          .more = "more nodes",
                          .left = memory.available_bytes};
    if (memory.cgroup.empty()) return pool;
    pool.name = cat("the memory control group ", memory.cgroup, ", limited to ", memory.total_bytes / 1'000'000,
                    " MB,");
    pool.more = "request more memory (Slurm: --mem)";
    return pool;
}

// Returns the memory pools from which this rank allocates in `space`. Other ranks may allocate from the same
// pools. Empty if the system does not report the free memory of the host.
std::vector<SharedMemoryPool> find_pools(device::MemorySpace space, const comm::Session& session) {
    std::vector<SharedMemoryPool> pools;
    if (space != device::MemorySpace::gpu) {
        for (const device::UsableMemory& memory : device::find_usable_memory())
            pools.push_back(make_pool(memory, session));
        return pools;
    }
    const device::GpuFacts gpu = device::selected_gpu();
    const std::string name = cat(gpu.name, ' ', gpu.bus_id, " of ", session.host());
    pools.push_back({.key = name,
                     .ranks = name,
                     .name = "the GPU",
                     .more = "more GPUs",
                     .left = device::count_free_gpu_bytes()});
    return pools;
}

// Collective over `control`. Returns the need of each rank. `rank_bytes` and `own_pools` are the bytes that
// this rank needs and the pools from which it allocates them.
std::vector<RankNeed> gather_needs(std::size_t rank_bytes, const std::vector<SharedMemoryPool>& own_pools,
                                   comm::Communicator& control) {
    std::string keys;
    for (const SharedMemoryPool& pool : own_pools) keys += pool.key + '\n';
    const std::vector<std::string> keys_per_rank = all_gather(control, keys);
    const std::vector<double> bytes_per_rank = all_gather(control, std::array{static_cast<double>(rank_bytes)});
    std::vector<RankNeed> needs;
    for (std::size_t rank = 0; rank < bytes_per_rank.size(); ++rank) {
        needs.push_back({.pool_keys = {}, .bytes = static_cast<std::size_t>(bytes_per_rank[rank])});
        std::istringstream lines(keys_per_rank[rank]);
        for (std::string key; std::getline(lines, key);) needs.back().pool_keys.push_back(key);
    }
    return needs;
}

}  // namespace

void refuse_too_many_threads(int threads, int limit, const std::string& host) {
    if (threads <= limit) return;
    throw ConfigError(cat(
        "--threads ", threads, " is beyond the ", limit, " threads that a rank may have on ", host,
        "; set --threads to the number of cores per rank, or 0 to divide the node's cores among its ranks"));
}

int count_ranks_on_same_cores(const comm::Session& session, comm::Communicator& control) {
    const std::string own_cores = cat(session.host(), ' ', format_ranges(device::list_usable_cores()));
    const std::vector<std::string> cores_per_rank = all_gather(control, own_cores);
    return static_cast<int>(std::count(cores_per_rank.begin(), cores_per_rank.end(), own_cores));
}

int choose_threads(const config::RunConfig& config, const comm::Session& session, comm::Communicator& control) {
    if (device::time_is_simulated()) return 1;
    // Ranks may differ in --threads, so all ranks take part in the collectives before any rank returns.
    const int ranks_on_same_cores = count_ranks_on_same_cores(session, control);
    const auto cores = static_cast<int>(device::list_usable_cores().size());
    run_or_fail_together(
        control, [&] { refuse_too_many_threads(config.run.threads, device::max_threads(), session.host()); });
    if (config.run.threads > 0) return config.run.threads;
    if (config.job.cores_per_rank) return std::clamp(*config.job.cores_per_rank, 1, cores);
    return std::max(1, cores / ranks_on_same_cores);
}

std::vector<std::string> list_cores_per_rank(comm::Communicator& control) {
    if (device::time_is_simulated()) return {};
    return all_gather(control, format_ranges(device::list_usable_cores()));
}

std::string explain_lack_of_memory(std::size_t rank_bytes, device::MemorySpace space,
                                   const comm::Session& session, comm::Communicator& control) {
    const std::vector<SharedMemoryPool> own_pools = find_pools(space, session);
    const std::vector<RankNeed> needs = gather_needs(rank_bytes, own_pools, control);
    return find_first_complaint(control, explain_lack(own_pools, needs));
}

void require_memory(std::size_t rank_bytes, device::MemorySpace space, const comm::Session& session,
                    comm::Communicator& control) {
    const std::string lack = explain_lack_of_memory(rank_bytes, space, session, control);
    if (!lack.empty()) throw ConfigError(lack);
}

std::size_t read_peak_bytes(device::MemorySpace space) {
    return space == device::MemorySpace::gpu ? device::peak_gpu_bytes() : device::read_peak_resident_bytes();
}

std::size_t read_peak_allocated_bytes(device::MemorySpace space) {
    return space == device::MemorySpace::gpu ? device::peak_gpu_bytes() : device::read_peak_private_bytes();
}

std::size_t reset_peak(device::MemorySpace space) {
    if (space == device::MemorySpace::gpu) device::reset_peak_gpu_bytes();
    return read_peak_allocated_bytes(space);
}

RankMemory find_largest_rank_memory(comm::Communicator& control, const RankMemory& own_memory) {
    const std::array fields{
        static_cast<double>(own_memory.parameters),     static_cast<double>(own_memory.gradients),
        static_cast<double>(own_memory.optimizer),      static_cast<double>(own_memory.activations),
        static_cast<double>(own_memory.workspace),      static_cast<double>(own_memory.messages),
        static_cast<double>(own_memory.copy),           static_cast<double>(own_memory.kernels),
        static_cast<double>(own_memory.copy_beside_gpu)};
    const std::vector<double> fields_of_ranks = all_gather(control, fields);
    RankMemory max_memory;
    for (std::size_t first = 0; first < fields_of_ranks.size(); first += fields.size()) {
        const auto bytes = [&](std::size_t field) {
            return static_cast<std::size_t>(fields_of_ranks[first + field]);
        };
        const RankMemory memory{.parameters = bytes(0),
                                .gradients = bytes(1),
                                .optimizer = bytes(2),
                                .activations = bytes(3),
                                .workspace = bytes(4),
                                .messages = bytes(5),
                                .copy = bytes(6),
                                .kernels = bytes(7),
                                .copy_beside_gpu = bytes(8)};
        if (memory.total() > max_memory.total()) max_memory = memory;
    }
    return max_memory;
}

std::string explain_lack_of_node_memory(const comm::NodeMemory& memory, std::size_t bytes,
                                        const comm::Session& session) {
    const auto free_bytes = memory.free_bytes();
    if (!free_bytes || bytes <= *free_bytes) return {};
    return cat("--move twins needs ", bytes / 1'000'000, " MB of memory that the ranks on ", session.host(),
               " share, but /dev/shm has only ", *free_bytes / 1'000'000,
               " MB left; enlarge /dev/shm, or use --move stop");
}

}  // namespace trireme::setup
