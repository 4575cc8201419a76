// What messages between ranks cost.
#pragma once

#include <vector>

namespace trireme::layout {

struct Link {
    double latency = 0;    // seconds of any message
    double bandwidth = 0;  // bytes a second; 0: not known, and messages take no time

    double seconds(double bytes) const { return bandwidth > 0 ? latency + bytes / bandwidth : 0; }
    friend bool operator==(const Link&, const Link&) = default;
};

// The cost of messages between the ranks of a run. A link without two ranks has no bandwidth.
struct RankLinks {
    Link team;  // the slowest between the first two ranks of a team
    Link all;   // the slower one of those between rank 0 and rank 1, and between rank 0 and the last rank
};

// Neighbouring ranks in groups of `ranks` have this link among them: a node, a rack. Levels come from the
// smallest groups to the largest, each made of whole groups of the one before; the last is among all ranks.
struct LinkLevel {
    int ranks = 0;  // of a group; 0: all
    Link link = {};

    friend bool operator==(const LinkLevel&, const LinkLevel&) = default;
};

// Of the smallest group that has both. Without levels messages take no time.
Link link_between(const std::vector<LinkLevel>& levels, int a, int b);

// Seconds in which `ranks` ranks sum as many bytes each: a ring's rounds, forth and back.
double sum_seconds(const Link& link, int ranks, double bytes);

}  // namespace trireme::layout
