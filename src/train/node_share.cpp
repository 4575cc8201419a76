#include "train/node_share.hpp"

#include <algorithm>
#include <array>

#include "trireme/base/number_list.hpp"
#include "trireme/comm/agreement.hpp"
#include "trireme/comm/collectives.hpp"
#include "trireme/device/clock.hpp"
#include "trireme/device/gpu.hpp"
#include "trireme/device/machine.hpp"

namespace trireme {
namespace {

// Where the tensors of a rank are, which others may share.
struct Room {
    std::string name;
    const char* kind;
    std::optional<std::size_t> bytes_left;  // none: nobody tells
};

Room room_of(Place place, const Session& session) {
    if (place != Place::gpu) return {session.host(), "node", available_memory_bytes()};
    const GpuFacts gpu = gpu_in_use();
    return {cat(gpu.name, ' ', gpu.bus_id, " of ", session.host()), "GPU", free_gpu_memory()};
}

}  // namespace

void refuse_too_many_threads(int threads, int most, const std::string& host) {
    if (threads <= most) return;
    throw ConfigError(
        cat("--threads ", threads, " is beyond the ", most, " threads that a rank may have on ", host,
            "; set --threads to the cores of a rank, or 0 to divide the node's cores among its ranks"));
}

int threads_per_rank(const RunConfig& config, const Session& session, Communicator& control) {
    if (time_is_simulated()) return 1;
    const std::string own = cat(session.host(), ' ', number_list(usable_cores()));
    const std::vector<std::string> all = gather_all(control, own);
    const auto sharers = static_cast<int>(std::count(all.begin(), all.end(), own));
    const auto cores = static_cast<int>(usable_cores().size());
    if (config.run.threads > 0) {
        agree(control, [&] { refuse_too_many_threads(config.run.threads, most_threads(), session.host()); });
        return config.run.threads;
    }
    if (config.job.cores_per_rank) return std::clamp(*config.job.cores_per_rank, 1, cores);
    return std::max(1, cores / sharers);
}

std::vector<std::string> cores_of_ranks(Communicator& control) {
    if (time_is_simulated()) return {};
    return gather_all(control, number_list(usable_cores()));
}

void refuse_more_than_memory(std::size_t rank_bytes, Place place, const Session& session,
                             Communicator& control) {
    const Room own = room_of(place, session);
    const std::vector<std::string> rooms = gather_all(control, own.name);
    const std::vector<double> bytes = gather_all(control, std::array{static_cast<double>(rank_bytes)});
    int sharers = 0;
    double needed = 0;
    double most = 0;
    for (std::size_t r = 0; r < rooms.size(); ++r) {
        if (rooms[r] != own.name && !time_is_simulated()) continue;
        sharers += 1;
        needed += bytes[r];
        most = std::max(most, bytes[r]);
    }
    const auto megabytes = [](double count) { return static_cast<std::size_t>(count / 1e6); };
    agree(control, [&] {
        if (!own.bytes_left || needed <= static_cast<double>(*own.bytes_left)) return;
        throw ConfigError(cat(
            "the ", sharers, " ranks of ", own.name, " need ", megabytes(needed), " MB (", megabytes(most),
            " the fullest) and the ", own.kind, " has ", *own.bytes_left / 1'000'000,
            " MB left; use a smaller --batch or --max-length, more --microbatches, or more ", own.kind, "s"));
    });
}

std::size_t peak_bytes(Place place) { return place == Place::gpu ? most_gpu_memory() : peak_resident_bytes(); }

std::size_t forget_peak(Place place) {
    if (place == Place::gpu) forget_most_gpu_memory();
    return peak_bytes(place);
}

RankMemory fullest(Communicator& control, const RankMemory& own) {
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

void refuse_more_than_is_left(const NodeMemory& memory, std::size_t bytes, const Session& session) {
    const auto left = memory.bytes_left();
    if (!left || bytes <= *left) return;
    throw ConfigError(cat("--move twins needs ", bytes / 1'000'000, " MB that the ranks of ", session.host(),
                          " share, and /dev/shm has ", *left / 1'000'000,
                          " MB left; make it larger, or use --move stop"));
}

}  // namespace trireme
