#include "rank/measured_links.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "trireme/comm/collectives.hpp"
#include "trireme/device/buffer.hpp"
#include "trireme/device/clock.hpp"

namespace trireme::rank {
namespace {

// Returns the seconds of a message of `count` numbers between two ranks: half the best of several round trips.
double message_seconds(comm::Communicator& group, int peer, std::size_t count) {
    device::Buffer buffer(count * sizeof(float), device::MemorySpace::host);
    const device::Tensor numbers{buffer.data(), device::DType::f32, 1, count, count};
    double best = std::numeric_limits<double>::infinity();
    for (int repeat = 0; repeat < 5; ++repeat) {
        const double begin = device::now_seconds();
        for (const int sender : {std::min(group.rank(), peer), std::max(group.rank(), peer)}) {
            const bool sends = group.rank() == sender;
            group.wait(
                std::array{sends ? group.start_send(numbers, peer) : group.start_receive(numbers, peer)});
        }
        best = std::min(best, device::now_seconds() - begin);
    }
    return best / 2;
}

constexpr double typical_bytes = 1 << 22;  // size of the message for which links are compared

// Collective over `all`. Returns the slowest of the links between ranks and their peers in `group`. `peer` is
// -1 on ranks without a peer.
layout::Link slowest_link(comm::Communicator* group, int peer, comm::Communicator& all) {
    constexpr std::size_t few = 16;
    constexpr std::size_t many = std::size_t{1} << 20;
    std::array<double, 2> seconds{};
    if (peer >= 0) seconds = {message_seconds(*group, peer, few), message_seconds(*group, peer, many)};
    const std::vector<double> measured = gather_all(all, seconds);
    for (std::size_t rank = 0; rank < measured.size() / 2; ++rank) {
        seconds[0] = std::max(seconds[0], measured[2 * rank]);
        seconds[1] = std::max(seconds[1], measured[2 * rank + 1]);
    }
    if (seconds[1] == 0) return {};
    const double more = std::max(seconds[1] - seconds[0], 1e-12);
    return {.latency = seconds[0], .bandwidth = static_cast<double>((many - few) * sizeof(float)) / more};
}

}  // namespace

layout::RankLinks measured_links(comm::Communicator* team, comm::Communicator& all) {
    const int last = all.size() - 1;
    const auto peer = [&](int one, int other) {
        if (one >= other || (all.rank() != one && all.rank() != other)) return -1;
        return all.rank() == one ? other : one;
    };
    const int in_team = team != nullptr && team->rank() < 2 ? 1 - team->rank() : -1;
    const layout::Link near = slowest_link(&all, peer(0, std::min(1, last)), all);
    const layout::Link far = slowest_link(&all, peer(0, last), all);
    return {.team = slowest_link(team, in_team, all),
            .all = far.seconds(typical_bytes) > near.seconds(typical_bytes) ? far : near};
}

}  // namespace trireme::rank
