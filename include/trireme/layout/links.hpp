// The cost of messages between ranks.
#pragma once

#include <vector>

namespace trireme::layout {

struct Link {
    double latency = 0;    // seconds per message
    double bandwidth = 0;  // bytes per second; 0 means unknown, and messages take no time

    // Returns the seconds of a message of `bytes` bytes.
    double predict_seconds(double bytes) const { return bandwidth > 0 ? latency + bytes / bandwidth : 0; }
    friend bool operator==(const Link&, const Link&) = default;
};

// Measured links between the ranks of a run. A link is unknown if no two ranks can measure it.
struct RankLinks {
    Link team;  // slowest of the links between the first two ranks of each team
    Link all;   // slower of two links: between ranks 0 and 1, and between rank 0 and the last rank
};

// A level of groups of `ranks` consecutive ranks, such as nodes or racks. `link` joins two ranks of a group
// that are in different groups of the previous level. Lists of levels are sorted from the smallest groups to
// the largest. Each group consists of whole groups of the previous level. At the last level, all ranks form one
// group.
struct LinkLevel {
    int ranks = 0;  // per group; 0 means all ranks
    Link link = {};

    friend bool operator==(const LinkLevel&, const LinkLevel&) = default;
};

// Returns the link of the smallest group that contains ranks `a` and `b`. If no group contains both ranks,
// messages over the link take no time.
Link find_link_between(const std::vector<LinkLevel>& levels, int a, int b);

// Returns the seconds of a ring all-reduce of `bytes` bytes per rank over equal links: 2 * (ranks - 1) rounds
// with messages of `bytes` / `ranks` bytes.
double predict_all_reduce_seconds(const Link& link, int ranks, double bytes);

}  // namespace trireme::layout
