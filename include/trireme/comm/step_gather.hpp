// Asynchronous all-gathers of a few numbers per rank, one per step, that overlap with the steps.
#pragma once

#include <deque>
#include <span>
#include <vector>

#include "trireme/comm/communicator.hpp"

namespace trireme::comm {

// The result of an all-gather: `width` numbers per rank. The number with index `field` means the same on every
// rank. Sums are in rank order, so that they have the same bits on all ranks.
class GatheredNumbers {
public:
    GatheredNumbers(std::vector<double> values, std::size_t width)
        : values_(std::move(values)), width_(width) {}

    double sum(std::size_t field) const;  // over all ranks
    double max(std::size_t field) const;  // over all ranks
    std::vector<double> list_per_rank(std::size_t field) const;
    std::size_t width() const { return width_; }

private:
    std::vector<double> values_;
    std::size_t width_;
};

class StepGather {
public:
    // Each rank posts `width` numbers per gather. All ranks of `group` must post the same number of gathers.
    // `group` must outlive this object and serve nothing else.
    StepGather(Communicator& group, std::size_t width) : group_(group), width_(width) {}

    // Starts the next all-gather with this rank's numbers; never blocks.
    void post(std::span<const double> own_numbers);
    // Collective over the group. Returns the result of the earliest all-gather that take() has not returned
    // yet. Waits until all ranks have posted that all-gather. Throws BugError if this rank has not posted it.
    GatheredNumbers take();

    std::size_t width() const { return width_; }
    std::size_t posted_gathers() const { return posted_gathers_; }
    double wait_seconds() const { return group_.traffic().wait_seconds; }
    void reset_traffic() { group_.reset_traffic(); }

private:
    struct Gather {
        std::vector<double> values;  // `width_` per rank, in rank order
        std::vector<Communicator::RequestId> ids;
    };

    Communicator& group_;
    std::size_t width_;
    std::size_t posted_gathers_ = 0;
    std::deque<Gather> pending_gathers_;  // posted, not yet returned by take()
};

}  // namespace trireme::comm
