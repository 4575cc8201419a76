// The cost of messages between ranks.
#pragma once

#include <vector>

namespace trireme::layout {

struct Link {
    double latency = 0;    // seconds per message
    double bandwidth = 0;  // bytes per second; 0 means unknown, and messages take no time

    double seconds(double bytes) const { return bandwidth > 0 ? latency + bytes / bandwidth : 0; }
    friend bool operator==(const Link&, const Link&) = default;
};

// Measured links between the ranks of a run. A link without two ranks has bandwidth 0.
struct RankLinks {
    Link team;  // slowest link, over all teams, between the first two ranks of a team
    Link all;   // slower one of the links between ranks 0 and 1 and between rank 0 and the last rank
};

// The link between ranks of the same group of `ranks` consecutive ranks, such as a node or a rack. Lists of
// levels go from the smallest groups to the largest. Each group consists of whole groups of the level before,
// and the last level joins all ranks.
struct LinkLevel {
    int ranks = 0;  // per group; 0 means all ranks
    Link link = {};

    friend bool operator==(const LinkLevel&, const LinkLevel&) = default;
};

// Returns the link of the smallest group that contains both ranks. Without levels messages take no time.
Link link_between(const std::vector<LinkLevel>& levels, int a, int b);

// Seconds of a ring all-reduce of `bytes` bytes per rank: 2 * (ranks - 1) rounds.
double sum_seconds(const Link& link, int ranks, double bytes);

}  // namespace trireme::layout
