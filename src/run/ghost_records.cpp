#include "run/ghost_records.hpp"

#include <algorithm>

namespace trireme::run {

void GhostRecords::add(int rank, const records::StepOutcome& own,
                       const std::function<void(records::StepOutcome&)>& record) {
    Step& step = steps_[own.step];
    records::StepOutcome& all = step.outcome;
    if (step.ranks++ == 0) {
        all = own;
        all.ranks.assign(static_cast<std::size_t>(ranks_), {});
        all.compute_seconds = all.seconds = 0;
        all.waits = {};
        all.padded_tokens = 0;
        all.joules_of_ranks.resize(own.joules_of_ranks.size() * static_cast<std::size_t>(ranks_));
    }
    if (!all.joules_of_ranks.empty())
        all.joules_of_ranks[static_cast<std::size_t>(rank)] = own.joules_of_ranks.front();
    all.seconds = std::max(all.seconds, own.seconds);
    all.ranks[static_cast<std::size_t>(rank)] = own.ranks.front();
    all.compute_seconds += own.compute_seconds / ranks_;
    all.waits += own.waits * (1.0 / ranks_);
    all.padded_tokens += own.padded_tokens;
    if (step.ranks < ranks_) return;
    records::StepOutcome outcome = std::move(all);
    steps_.erase(own.step);
    record(outcome);
}

}  // namespace trireme::run
