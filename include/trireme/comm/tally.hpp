// Some numbers of every rank, step after step, gathered while the ranks go on.
#pragma once

#include <deque>
#include <span>
#include <vector>

#include "trireme/comm/communicator.hpp"

namespace trireme::comm {

// The same `width` numbers of every rank, in rank order: sums over them have the same bits on all ranks.
class Gathered {
public:
    Gathered(std::vector<double> values, std::size_t width) : values_(std::move(values)), width_(width) {}

    double sum(std::size_t field) const;
    double most(std::size_t field) const;
    std::vector<double> of_ranks(std::size_t field) const;
    std::size_t width() const { return width_; }

private:
    std::vector<double> values_;
    std::size_t width_;
};

class Tally {
public:
    // Every rank of `group`, which outlives the tally and is used for nothing else, posts as many rounds.
    Tally(Communicator& group, std::size_t width) : group_(group), width_(width) {}

    // Starts to send this rank's numbers of the next round to all others; never waits.
    void post(std::span<const double> own);
    // Collective over the group: waits until all ranks have posted the earliest round that has not been taken,
    // and this rank has, and takes it.
    Gathered take();

    std::size_t posted() const { return posted_; }
    double wait_seconds() const { return group_.traffic().wait_seconds; }
    void reset_traffic() { group_.reset_traffic(); }

private:
    struct Round {
        std::vector<double> values;  // of all ranks
        std::vector<Communicator::Ticket> tickets;
    };

    Communicator& group_;
    std::size_t width_;
    std::size_t posted_ = 0;
    std::deque<Round> rounds_;  // posted and not taken
};

}  // namespace trireme::comm
