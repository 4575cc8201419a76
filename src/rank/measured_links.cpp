#include "rank/measured_links.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "trireme/comm/collectives.hpp"
#include "trireme/device/buffer.hpp"
#include "trireme/device/clock.hpp"

namespace trireme::rank {
namespace {

// Point-to-point with rank `peer` of `group`, which also makes this call. Returns the seconds of a message of
// `count` floats between the two ranks: half of the shortest of several round trips.
double measure_message_seconds(comm::Communicator& group, int peer, std::size_t count) {
    device::Buffer buffer(count * sizeof(float), device::MemorySpace::host);
    const device::Tensor message{buffer.data(), device::DType::f32, 1, count, count};
    double min_seconds = std::numeric_limits<double>::infinity();
    for (int repeat = 0; repeat < 5; ++repeat) {
        const double begin_seconds = device::now_seconds();
        for (const int sender : {std::min(group.rank(), peer), std::max(group.rank(), peer)}) {
            const bool is_sender = group.rank() == sender;
            group.wait(
                std::array{is_sender ? group.start_send(message, peer) : group.start_receive(message, peer)});
        }
        min_seconds = std::min(min_seconds, device::now_seconds() - begin_seconds);
    }
    return min_seconds / 2;
}

constexpr double typical_bytes = 1 << 22;  // message size at which two links are compared

// Collective over `all`. Each rank measures its link to rank `peer` of `group`; a rank that passes -1 as `peer`
// measures none. Takes the longest time over all ranks, for a small and for a large message. Returns the link
// whose latency and bandwidth follow from these two times, or a default link if no rank measures one.
layout::Link measure_slowest_link(comm::Communicator* group, int peer, comm::Communicator& all) {
    constexpr std::size_t small_count = 16;
    constexpr std::size_t large_count = std::size_t{1} << 20;
    std::array<double, 2> seconds{};  // of a small and of a large message
    if (peer >= 0)
        seconds = {measure_message_seconds(*group, peer, small_count),
                   measure_message_seconds(*group, peer, large_count)};
    const std::vector<double> gathered = all_gather(all, seconds);
    for (std::size_t rank = 0; rank < gathered.size() / 2; ++rank) {
        seconds[0] = std::max(seconds[0], gathered[2 * rank]);
        seconds[1] = std::max(seconds[1], gathered[2 * rank + 1]);
    }
    if (seconds[1] == 0) return {};
    const double extra_seconds = std::max(seconds[1] - seconds[0], 1e-12);
    return {.latency = seconds[0],
            .bandwidth = static_cast<double>((large_count - small_count) * sizeof(float)) / extra_seconds};
}

}  // namespace

layout::RankLinks measure_rank_links(comm::Communicator* team, comm::Communicator& all) {
    const int last_rank = all.size() - 1;
    // Returns the peer of this rank on the link between ranks `low` and `high`. Returns -1 if this rank is
    // neither of them, or if `low` is not below `high`.
    const auto find_peer = [&](int low, int high) {
        if (low >= high || (all.rank() != low && all.rank() != high)) return -1;
        return all.rank() == low ? high : low;
    };
    const int team_peer = team != nullptr && team->rank() < 2 ? 1 - team->rank() : -1;
    const layout::Link link_to_next_rank =
        measure_slowest_link(&all, find_peer(0, std::min(1, last_rank)), all);
    const layout::Link link_to_last_rank = measure_slowest_link(&all, find_peer(0, last_rank), all);
    return {.team = measure_slowest_link(team, team_peer, all),
            .all = link_to_last_rank.predict_seconds(typical_bytes) >
                           link_to_next_rank.predict_seconds(typical_bytes)
                       ? link_to_last_rank
                       : link_to_next_rank};
}

}  // namespace trireme::rank
