// An asynchronous all-gather of a few numbers per rank, once per step, that overlaps with the steps.
#pragma once

#include <deque>
#include <span>
#include <vector>

#include "trireme/comm/communicator.hpp"

namespace trireme::comm {

// The `width` numbers of every rank, in rank order, so that sums over them have the same bits on all ranks.
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
    // `group` must outlive the tally and serve nothing else. All its ranks must post the same number of rounds.
    Tally(Communicator& group, std::size_t width) : group_(group), width_(width) {}

    // Starts to send this rank's numbers of the next round to all others; never blocks.
    void post(std::span<const double> own);
    // Collective over the group. Waits until all ranks have posted the earliest round that was not taken yet,
    // and returns it. Throws BugError if this rank has not posted it.
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
    std::deque<Round> rounds_;  // posted and not yet taken
};

}  // namespace trireme::comm
