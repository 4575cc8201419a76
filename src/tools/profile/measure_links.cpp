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

constexpr std::size_t least_bytes = std::size_t{1} << 10;  // rows and gradients are at least as large
constexpr std::size_t most_bytes = std::size_t{16} << 20;
constexpr std::size_t growth = 4;

using Pair = std::pair<int, int>;

// Returns the number of messages per measurement: they take about as long as one of the
// largest, and are at most 200.
std::size_t rounds_of(std::size_t bytes) { return std::clamp<std::size_t>(most_bytes / bytes, 1, 200); }

// Both ranks send at the same time, as in an all-reduce. A full-duplex link is no slower for it, but memory
// through which both ranks copy is.
class Exchange {
public:
    Exchange(comm::Communicator& all, const Pair& pair)
        : all_(all),
          peer_(all.rank() == pair.first ? pair.second : pair.first),
          memory_("messages", 2 * turns * most_bytes, device::MemorySpace::host),
          sent_(memory_.tensor(device::DType::f32, 1, length)),
          received_(memory_.tensor(device::DType::f32, 1, length)) {}

    // Returns the seconds in which one message arrives at each of the two ranks.
    double seconds_of(std::size_t bytes, std::size_t repeats) {
        pass(bytes / sizeof(float));
        std::vector<double> seconds;
        for (std::size_t r = 0; r < repeats; ++r) {
            const double begin = device::now_seconds();
            for (std::size_t round = 0; round < rounds_of(bytes); ++round) pass(bytes / sizeof(float));
            seconds.push_back((device::now_seconds() - begin) / static_cast<double>(rounds_of(bytes)));
        }
        return median_of(std::move(seconds));
    }

private:
    static constexpr std::size_t turns = 4;
    static constexpr std::size_t length = turns * most_bytes / sizeof(float);

    // Uses memory that the last messages did not touch, as the messages of a run do.
    void pass(std::size_t elements) {
        if (length - next_ < elements) next_ = 0;
        const auto arrival = all_.start_receive(received_.column_range(next_, elements), peer_);
        const auto departure = all_.start_send(sent_.column_range(next_, elements), peer_);
        all_.wait(std::array{arrival, departure});
        next_ += elements;
    }

    comm::Communicator& all_;
    int peer_;
    device::Arena memory_;
    device::Tensor sent_, received_;
    std::size_t next_ = 0;
};

// Collective over `all`. The pair measures the link, and all ranks return the result of its first rank.
layout::Link measure_link(comm::Communicator& all, const Pair& pair, std::size_t repeats) {
    layout::Link link;
    if (all.rank() == pair.first || all.rank() == pair.second) {
        Exchange way(all, pair);
        std::vector<MessageTime> times;
        for (std::size_t bytes = least_bytes; bytes <= most_bytes; bytes *= growth) {
            times.push_back({.bytes = static_cast<double>(bytes), .seconds = way.seconds_of(bytes, repeats)});
        }
        link = fitted_link(times);
    }
    const std::vector<double> all_links = gather_all(all, std::array{link.latency, link.bandwidth});
    const std::size_t first = 2 * static_cast<std::size_t>(pair.first);
    return {.latency = all_links[first], .bandwidth = all_links[first + 1]};
}

// Returns the first two ranks that share a node if `share_one` is true, otherwise the first two that do not.
std::optional<Pair> first_pair(const std::vector<int>& nodes, bool share_one) {
    for (std::size_t a = 0; a < nodes.size(); ++a) {
        for (std::size_t b = a + 1; b < nodes.size(); ++b) {
            if ((nodes[a] == nodes[b]) == share_one) return Pair{static_cast<int>(a), static_cast<int>(b)};
        }
    }
    return std::nullopt;
}

// Returns the number of ranks per node if it is the same on all nodes and ranks are numbered node by node.
std::optional<int> ranks_of_a_node(const std::vector<int>& nodes) {
    const auto count = static_cast<std::size_t>(std::ranges::count(nodes, nodes.front()));
    for (std::size_t rank = 0; rank < nodes.size(); ++rank) {
        if (nodes[rank] != static_cast<int>(rank / count * count)) return std::nullopt;
    }
    return static_cast<int>(count);
}

}  // namespace

// Minimises the sum of squares of (latency + bytes * slope) / seconds - 1.
layout::Link fitted_link(std::span<const MessageTime> times) {
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
    const std::optional<Pair> within = first_pair(nodes, true);
    const std::optional<Pair> across = first_pair(nodes, false);
    std::vector<layout::LinkLevel> levels;
    const std::optional<int> ranks = ranks_of_a_node(nodes);
    if (within && (!across || ranks)) levels.push_back({.link = measure_link(all, *within, repeats)});
    if (across && !levels.empty()) levels.front().ranks = *ranks;
    if (across) levels.push_back({.link = measure_link(all, *across, repeats)});
    return levels;
}

}  // namespace trireme::tools
