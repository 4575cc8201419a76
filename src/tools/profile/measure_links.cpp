#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "tools/profile/measurements.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/comm/collectives.hpp"
#include "trireme/device/buffer.hpp"
#include "trireme/device/clock.hpp"

namespace trireme::tools {
namespace {

constexpr std::size_t min_bytes = std::size_t{1} << 10;   // smallest measured message
constexpr std::size_t max_bytes = std::size_t{16} << 20;  // largest measured message
constexpr std::size_t growth = 4;                         // ratio of successive message sizes

using RankPair = std::pair<int, int>;  // the two ranks of a link

// Returns the number of messages of `bytes` bytes per measurement. Together the messages have max_bytes bytes,
// unless that takes more than 200 messages.
std::size_t choose_message_count(std::size_t bytes) {
    return std::clamp<std::size_t>(max_bytes / bytes, 1, 200);
}

// Exchanges messages between the two ranks of a pair. Both ranks send at the same time, as in an all-reduce.
// Sending at the same time does not slow down messages over a full-duplex link. It slows down messages that
// both ranks copy through the node's memory.
class Exchange {
public:
    Exchange(comm::Communicator& all, const RankPair& pair)
        : all_(all),
          peer_(all.rank() == pair.first ? pair.second : pair.first),
          memory_("messages", 2 * max_messages * max_bytes, device::MemorySpace::host),
          sent_(memory_.tensor(device::DType::f32, 1, length)),
          received_(memory_.tensor(device::DType::f32, 1, length)) {}

    // Both ranks of the pair must call this function, and no other rank. Returns the seconds in which each rank
    // receives one message of `bytes` bytes: the median of `repeats` measurements, after one unmeasured
    // exchange.
    double measure_seconds(std::size_t bytes, std::size_t repeats) {
        exchange_messages(bytes / sizeof(float));
        std::vector<double> seconds;
        for (std::size_t r = 0; r < repeats; ++r) {
            const double begin = device::now_seconds();
            for (std::size_t round = 0; round < choose_message_count(bytes); ++round)
                exchange_messages(bytes / sizeof(float));
            seconds.push_back((device::now_seconds() - begin) /
                              static_cast<double>(choose_message_count(bytes)));
        }
        return compute_median(std::move(seconds));
    }

private:
    static constexpr std::size_t max_messages = 4;  // messages of max_bytes that each of the two buffers holds
    static constexpr std::size_t length = max_messages * max_bytes / sizeof(float);  // elements per buffer

    // Successive messages use successive ranges of the buffers, so that the data of a message are not in the
    // CPU caches. In a training run they are not in the caches either.
    void exchange_messages(std::size_t elements) {
        if (length - next_ < elements) next_ = 0;
        const auto receive = all_.start_receive(received_.column_range(next_, elements), peer_);
        const auto send = all_.start_send(sent_.column_range(next_, elements), peer_);
        all_.wait(std::array{receive, send});
        next_ += elements;
    }

    comm::Communicator& all_;
    int peer_;
    device::Arena memory_;
    device::Tensor sent_, received_;
    std::size_t next_ = 0;  // first element of the next message
};

// Collective over `all`. The two ranks of `pair` measure the link between them, and the other ranks wait. All
// ranks return the result of the first rank of the pair.
layout::Link measure_link(comm::Communicator& all, const RankPair& pair, std::size_t repeats) {
    layout::Link link;
    if (all.rank() == pair.first || all.rank() == pair.second) {
        Exchange exchange(all, pair);
        std::vector<MessageTime> times;
        for (std::size_t bytes = min_bytes; bytes <= max_bytes; bytes *= growth) {
            times.push_back(
                {.bytes = static_cast<double>(bytes), .seconds = exchange.measure_seconds(bytes, repeats)});
        }
        link = fit_link(times);
    }
    // Two values per rank: latency and bandwidth.
    const std::vector<double> all_links = all_gather(all, std::array{link.latency, link.bandwidth});
    const std::size_t first = 2 * static_cast<std::size_t>(pair.first);
    return {.latency = all_links[first], .bandwidth = all_links[first + 1]};
}

// Returns the first two ranks that share a node if `is_within_node` is true, otherwise the first two ranks that
// do not share one. Returns nothing if there are no such ranks. `nodes` has one entry per rank: the lowest
// rank on its node.
std::optional<RankPair> find_first_pair(const std::vector<int>& nodes, bool is_within_node) {
    for (std::size_t a = 0; a < nodes.size(); ++a) {
        for (std::size_t b = a + 1; b < nodes.size(); ++b) {
            if ((nodes[a] == nodes[b]) == is_within_node)
                return RankPair{static_cast<int>(a), static_cast<int>(b)};
        }
    }
    return std::nullopt;
}

// Returns the number of ranks per node if ranks are numbered node by node, and if all nodes but the last have
// that number of ranks; the last node may have fewer. Otherwise returns nothing. `nodes` has one entry per
// rank: the lowest rank on its node.
std::optional<int> find_ranks_per_node(const std::vector<int>& nodes) {
    const auto count = static_cast<std::size_t>(std::ranges::count(nodes, nodes.front()));
    for (std::size_t rank = 0; rank < nodes.size(); ++rank) {
        if (nodes[rank] != static_cast<int>(rank / count * count)) return std::nullopt;
    }
    return static_cast<int>(count);
}

}  // namespace

// Minimises the sum over `times` of ((latency + bytes * slope) / seconds - 1)^2, in which `slope` is the
// seconds per byte. The variables are the weighted sums of the normal equations: `x` of bytes, `y` of seconds,
// `xx` of bytes^2, `xy` of bytes * seconds, and `one` of 1. If the minimum has a negative latency, the minimum
// with latency 0 replaces it.
layout::Link fit_link(std::span<const MessageTime> times) {
    double one = 0, x = 0, xx = 0, y = 0, xy = 0;
    for (const MessageTime& each : times) {
        const double weight = 1 / (each.seconds * each.seconds);
        one += weight;
        x += weight * each.bytes;
        xx += weight * each.bytes * each.bytes;
        y += weight * each.seconds;
        xy += weight * each.bytes * each.seconds;
    }
    const double determinant = one * xx - x * x;
    const double slope = determinant > 0 ? (one * xy - x * y) / determinant : 0;
    const MessageTime largest = *std::ranges::max_element(times, {}, &MessageTime::bytes);
    if (slope <= 0) return {.latency = y / one, .bandwidth = largest.bytes / largest.seconds};
    const double latency = (y - slope * x) / one;
    if (latency < 0) return {.latency = 0, .bandwidth = xx / xy};
    return {.latency = latency, .bandwidth = 1 / slope};
}

std::vector<layout::LinkLevel> measure_links(comm::Communicator& all, const std::vector<int>& nodes,
                                             std::size_t repeats) {
    const std::optional<RankPair> pair_within_node = find_first_pair(nodes, true);
    const std::optional<RankPair> pair_across_nodes = find_first_pair(nodes, false);
    std::vector<layout::LinkLevel> levels;
    const std::optional<int> ranks_per_node = find_ranks_per_node(nodes);
    if (pair_within_node && (!pair_across_nodes || ranks_per_node))
        levels.push_back({.link = measure_link(all, *pair_within_node, repeats)});
    if (pair_across_nodes && !levels.empty()) levels.front().ranks = *ranks_per_node;
    if (pair_across_nodes) levels.push_back({.link = measure_link(all, *pair_across_nodes, repeats)});
    return levels;
}

}  // namespace trireme::tools
