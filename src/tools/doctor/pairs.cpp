#include <array>

#include "tools/doctor/probes.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/device/buffer.hpp"
#include "trireme/device/clock.hpp"

namespace trireme::tools::doctor {
namespace {

constexpr std::size_t small_bytes = 8;
constexpr std::size_t large_bytes = std::size_t{4} << 20;

// Called by both ranks of `pair`. Returns the seconds per message, the median of several rounds. In a round,
// `messages_per_round` messages pass in each direction, one at a time. The first round is a warm-up.
double measure_median_seconds(comm::Communicator& group, const std::pair<int, int>& pair,
                              device::Tensor message, int messages_per_round) {
    constexpr int rounds = 9;
    const bool is_first = group.rank() == pair.first;
    const int peer = is_first ? pair.second : pair.first;
    const auto send = [&] { group.wait(std::array{group.start_send(message, peer)}); };
    const auto receive = [&] { group.wait(std::array{group.start_receive(message, peer)}); };
    std::vector<double> seconds;
    for (int round = 0; round <= rounds; ++round) {
        const double begin = device::now_seconds();
        for (int exchange = 0; exchange < messages_per_round; ++exchange) {
            is_first ? send() : receive();
            is_first ? receive() : send();
        }
        if (round > 0) seconds.push_back((device::now_seconds() - begin) / (2.0 * messages_per_round));
    }
    return compute_median(std::move(seconds));
}

}  // namespace

std::vector<std::pair<int, int>> list_pairs(const std::vector<int>& nodes) {
    std::vector<std::pair<int, int>> pairs;
    bool has_pair_on_node = false;
    for (int rank = 1; rank < static_cast<int>(nodes.size()); ++rank) {
        const int node = nodes[static_cast<std::size_t>(rank)];
        const bool is_on_node_of_rank_0 = node == nodes.front();
        const bool is_first_of_node = node == rank;  // a node has the number of its first rank
        if (is_on_node_of_rank_0 ? !has_pair_on_node : is_first_of_node) pairs.emplace_back(0, rank);
        has_pair_on_node = has_pair_on_node || is_on_node_of_rank_0;
    }
    return pairs;
}

PairFacts measure_pair(comm::Communicator& group, const std::pair<int, int>& pair) {
    constexpr int small_messages_per_round = 100;
    constexpr int large_messages_per_round = 2;
    const device::Buffer memory(large_bytes, device::MemorySpace::host);
    const auto make_message = [&](std::size_t bytes) {
        return device::Tensor{memory.data(), device::DType::f32, 1, bytes / sizeof(float),
                              bytes / sizeof(float)};
    };
    const double small_seconds =
        measure_median_seconds(group, pair, make_message(small_bytes), small_messages_per_round);
    const double large_seconds =
        measure_median_seconds(group, pair, make_message(large_bytes), large_messages_per_round);
    return {.first = pair.first,
            .second = pair.second,
            .seconds = small_seconds,
            .bytes_per_s = static_cast<double>(large_bytes) / large_seconds};
}

}  // namespace trireme::tools::doctor
