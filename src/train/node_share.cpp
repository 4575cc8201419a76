#include "train/node_share.hpp"

#include <algorithm>

#include "trireme/comm/collectives.hpp"
#include "trireme/device/machine.hpp"

namespace trireme {

int threads_per_rank(int wanted, const Session& session, Communicator& control) {
    const std::string own = session.host() + " " + core_mask();
    const std::vector<std::string> all = gather_all(control, own);
    const auto sharers = static_cast<int>(std::count(all.begin(), all.end(), own));
    return wanted > 0 ? wanted : std::max(1, usable_cores() / sharers);
}

void refuse_more_than_memory(std::size_t rank_bytes, const Session& session) {
    const auto available = available_memory_bytes();
    const std::size_t needed = rank_bytes * static_cast<std::size_t>(session.node_size());
    if (!available || needed <= *available) return;
    throw ConfigError(
        cat("the ", session.node_size(), " ranks of ", session.host(), " need ", needed / 1'000'000, " MB (",
            rank_bytes / 1'000'000, " each) and the node has ", *available / 1'000'000,
            " MB left; use a smaller --batch or --max-length, more --microbatches, or more nodes"));
}

}  // namespace trireme
