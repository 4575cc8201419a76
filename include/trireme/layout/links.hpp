// The cost of messages between ranks.
#pragma once

#include <vector>

namespace trireme::layout {

struct Link {
    double latency = 0;    // seconds per message
    double bandwidth = 0;  // bytes per second; 0: unknown, messages take no time

    // Returns the seconds of a message of `bytes` bytes.
    double predict_seconds(double bytes) const { return bandwidth > 0 ? latency + bytes / bandwidth : 0; }
    friend bool operator==(const Link&, const Link&) = default;
};

// Measured links between the ranks of a run. A link has bandwidth 0 (unknown) if no two ranks can measure it.
struct RankLinks {
    Link team;  // slowest link of all teams; each team measures the link between its first two ranks
    Link all;   // slower of two links: between ranks 0 and 1, and between rank 0 and the last rank
};

// One level of a hierarchy of groups, such as nodes or racks. Each group has `ranks` consecutive ranks, and
// consists of whole groups of the previous level. `link` joins two ranks of a group that are in different
// groups of the previous level. At the first level, `link` joins any two ranks of a group. Lists of levels are
// sorted from the smallest groups to the largest.
struct LinkLevel {
    int ranks = 0;  // per group; 0: one group has all ranks
    Link link = {};

    friend bool operator==(const LinkLevel&, const LinkLevel&) = default;
};

// Returns the link of the smallest group that contains ranks `a` and `b`. If no group contains both ranks,
// messages over the returned link take no time.
Link find_link_between(const std::vector<LinkLevel>& levels, int a, int b);

// Returns the seconds of a ring all-reduce of `bytes` bytes per rank over equal links. The all-reduce has 2 *
// (ranks - 1) rounds. In each round, every rank sends a message of `bytes` / `ranks` bytes.
double predict_all_reduce_seconds(const Link& link, int ranks, double bytes);

}  // namespace trireme::layout
