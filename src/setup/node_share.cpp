#include "trireme/setup/node_share.hpp"

#include <algorithm>
#include <array>
#include <sstream>

#include "setup/shared_room.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/comm/agreement.hpp"
#include "trireme/comm/collectives.hpp"
#include "trireme/device/clock.hpp"
#include "trireme/device/gpu.hpp"
#include "trireme/device/machine.hpp"

namespace trireme::setup {
namespace {

// The ranks of a simulation share this process, whatever their host names are.
std::string key_of(const comm::Session& session, const std::string& identity) {
    return device::time_is_simulated() ? identity : cat(session.host(), ' ', identity);
}

SharedRoom shared_room(const device::UsableMemory& room, const comm::Session& session) {
    SharedRoom shared{.key = key_of(session, room.identity),
                      .ranks = session.host(),
                      .name = "the node",
                      .more = "more nodes",
                      .left = room.left};
    if (room.group.empty()) return shared;
    shared.name = cat("the memory control group ", room.group, ", limited to ", room.bytes / 1'000'000, " MB,");
    shared.more = "ask for more memory (Slurm: --mem)";
    return shared;
}

// Returns the memories that hold a rank's tensors and that other ranks may share. Empty if the system does not
// report free memory.
std::vector<SharedRoom> rooms_of(device::MemorySpace place, const comm::Session& session) {
    std::vector<SharedRoom> rooms;
    if (place != device::MemorySpace::gpu) {
        for (const device::UsableMemory& room : device::usable_memory())
            rooms.push_back(shared_room(room, session));
        return rooms;
    }
    const device::GpuFacts gpu = device::gpu_in_use();
    const std::string name = cat(gpu.name, ' ', gpu.bus_id, " of ", session.host());
    rooms.push_back({.key = name,
                     .ranks = name,
                     .name = "the GPU",
                     .more = "more GPUs",
                     .left = device::free_gpu_memory()});
    return rooms;
}

// Collective over `control`. Returns the need of each rank.
std::vector<RankNeed> needs_of_all(std::size_t rank_bytes, const std::vector<SharedRoom>& own,
                                   comm::Communicator& control) {
    std::string keys;
    for (const SharedRoom& room : own) keys += room.key + '\n';
    const std::vector<std::string> keys_of_ranks = gather_all(control, keys);
    const std::vector<double> bytes = gather_all(control, std::array{static_cast<double>(rank_bytes)});
    std::vector<RankNeed> needs;
    for (std::size_t rank = 0; rank < bytes.size(); ++rank) {
        needs.push_back({.rooms = {}, .bytes = static_cast<std::size_t>(bytes[rank])});
        std::istringstream lines(keys_of_ranks[rank]);
        for (std::string key; std::getline(lines, key);) needs.back().rooms.push_back(key);
    }
    return needs;
}

}  // namespace

void refuse_too_many_threads(int threads, int most, const std::string& host) {
    if (threads <= most) return;
    throw ConfigError(
        cat("--threads ", threads, " is beyond the ", most, " threads that a rank may have on ", host,
            "; set --threads to the cores of a rank, or 0 to divide the node's cores among its ranks"));
}

int ranks_on_own_cores(const comm::Session& session, comm::Communicator& control) {
    const std::string own = cat(session.host(), ' ', number_list(device::usable_cores()));
    const std::vector<std::string> all = gather_all(control, own);
    return static_cast<int>(std::count(all.begin(), all.end(), own));
}

int threads_per_rank(const config::RunConfig& config, const comm::Session& session,
                     comm::Communicator& control) {
    if (device::time_is_simulated()) return 1;
    const int sharers = ranks_on_own_cores(session, control);
    const auto cores = static_cast<int>(device::usable_cores().size());
    agree(control,
          [&] { refuse_too_many_threads(config.run.threads, device::most_threads(), session.host()); });
    if (config.run.threads > 0) return config.run.threads;  // ranks may differ in --threads
    if (config.job.cores_per_rank) return std::clamp(*config.job.cores_per_rank, 1, cores);
    return std::max(1, cores / sharers);
}

std::vector<std::string> cores_of_ranks(comm::Communicator& control) {
    if (device::time_is_simulated()) return {};
    return gather_all(control, number_list(device::usable_cores()));
}

std::string lack_of_memory(std::size_t rank_bytes, device::MemorySpace place, const comm::Session& session,
                           comm::Communicator& control) {
    const std::vector<SharedRoom> own = rooms_of(place, session);
    const std::vector<RankNeed> needs = needs_of_all(rank_bytes, own, control);
    return first_complaint(control, complaint_about(own, needs));
}

void refuse_more_than_memory(std::size_t rank_bytes, device::MemorySpace place, const comm::Session& session,
                             comm::Communicator& control) {
    const std::string lack = lack_of_memory(rank_bytes, place, session, control);
    if (!lack.empty()) throw ConfigError(lack);
}

std::size_t peak_bytes(device::MemorySpace place) {
    return place == device::MemorySpace::gpu ? device::most_gpu_memory() : device::peak_resident_bytes();
}

std::size_t peak_allocated_bytes(device::MemorySpace place) {
    return place == device::MemorySpace::gpu ? device::most_gpu_memory() : device::peak_private_bytes();
}

std::size_t forget_peak(device::MemorySpace place) {
    if (place == device::MemorySpace::gpu) device::forget_most_gpu_memory();
    return peak_allocated_bytes(place);
}

RankMemory fullest(comm::Communicator& control, const RankMemory& own) {
    const std::array numbers{static_cast<double>(own.parameters),     static_cast<double>(own.gradients),
                             static_cast<double>(own.optimizer),      static_cast<double>(own.activations),
                             static_cast<double>(own.workspace),      static_cast<double>(own.messages),
                             static_cast<double>(own.copy),           static_cast<double>(own.kernels),
                             static_cast<double>(own.copy_beside_gpu)};
    const std::vector<double> all = gather_all(control, numbers);
    RankMemory most;
    for (std::size_t i = 0; i < all.size(); i += numbers.size()) {
        const auto bytes = [&](std::size_t field) { return static_cast<std::size_t>(all[i + field]); };
        const RankMemory memory{.parameters = bytes(0),
                                .gradients = bytes(1),
                                .optimizer = bytes(2),
                                .activations = bytes(3),
                                .workspace = bytes(4),
                                .messages = bytes(5),
                                .copy = bytes(6),
                                .kernels = bytes(7),
                                .copy_beside_gpu = bytes(8)};
        if (memory.total() > most.total()) most = memory;
    }
    return most;
}

std::string lack_of_node_memory(const comm::NodeMemory& memory, std::size_t bytes,
                                const comm::Session& session) {
    const auto left = memory.bytes_left();
    if (!left || bytes <= *left) return {};
    return cat("--move twins needs ", bytes / 1'000'000, " MB that the ranks of ", session.host(),
               " share, and /dev/shm has ", *left / 1'000'000, " MB left; make it larger, or use --move stop");
}

}  // namespace trireme::setup
