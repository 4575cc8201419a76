#include "train/node_share.hpp"

#include <algorithm>
#include <array>

#include "trireme/base/number_list.hpp"
#include "trireme/comm/agreement.hpp"
#include "trireme/comm/collectives.hpp"
#include "trireme/device/clock.hpp"
#include "trireme/device/machine.hpp"

namespace trireme {

int threads_per_rank(const RunConfig& config, const Session& session, Communicator& control) {
    if (time_is_simulated()) return 1;
    const std::string own = cat(session.host(), ' ', number_list(usable_cores()));
    const std::vector<std::string> all = gather_all(control, own);
    const auto sharers = static_cast<int>(std::count(all.begin(), all.end(), own));
    const auto cores = static_cast<int>(usable_cores().size());
    if (config.run.threads > 0) return config.run.threads;
    if (config.job.cores_per_rank) return std::clamp(*config.job.cores_per_rank, 1, cores);
    return std::max(1, cores / sharers);
}

std::vector<std::string> cores_of_ranks(Communicator& control) {
    if (time_is_simulated()) return {};
    return gather_all(control, number_list(usable_cores()));
}

void refuse_more_than_memory(std::size_t rank_bytes, const Session& session, Communicator& control) {
    const std::vector<std::string> hosts = gather_all(control, session.host());
    const std::vector<double> bytes = gather_all(control, std::array{static_cast<double>(rank_bytes)});
    int sharers = 0;
    double needed = 0;
    double most = 0;
    for (std::size_t r = 0; r < hosts.size(); ++r) {
        if (hosts[r] != session.host() && !time_is_simulated()) continue;
        sharers += 1;
        needed += bytes[r];
        most = std::max(most, bytes[r]);
    }
    const auto megabytes = [](double count) { return static_cast<std::size_t>(count / 1e6); };
    agree(control, [&] {
        const auto available = available_memory_bytes();
        if (!available || needed <= static_cast<double>(*available)) return;
        throw ConfigError(cat("the ", sharers, " ranks of ", session.host(), " need ", megabytes(needed),
                              " MB (", megabytes(most), " the fullest) and the node has ",
                              *available / 1'000'000,
                              " MB left; use a smaller --batch or --max-length, more --microbatches, or more "
                              "nodes"));
    });
}

RankMemory fullest(Communicator& control, const RankMemory& own) {
    const std::array numbers{static_cast<double>(own.parameters), static_cast<double>(own.gradients),
                             static_cast<double>(own.optimizer),  static_cast<double>(own.activations),
                             static_cast<double>(own.workspace),  static_cast<double>(own.messages),
                             static_cast<double>(own.copy)};
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
                                .copy = bytes(6)};
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
