#include "run/ghost_records.hpp"

#include <algorithm>

namespace trireme::run {

void GhostRecords::add(int rank, const records::StepOutcome& own_outcome,
                       const std::function<void(records::StepOutcome&)>& record) {
    Step& step = steps_[own_outcome.step];
    records::StepOutcome& combined = step.outcome;
    if (step.added_ranks++ == 0) {
        combined = own_outcome;
        combined.ranks.assign(static_cast<std::size_t>(ranks_), {});
        combined.compute_seconds = combined.seconds = 0;
        combined.waits = {};
        combined.padded_tokens = 0;
        combined.work = {};
        combined.energy_of_ranks.resize(own_outcome.energy_of_ranks.size() * static_cast<std::size_t>(ranks_));
    }
    if (!own_outcome.pass_times.empty()) {
        combined.pass_times.resize(static_cast<std::size_t>(ranks_));
        combined.pass_times[static_cast<std::size_t>(rank)] = own_outcome.pass_times.front();
    }
    if (own_outcome.energy_of_ranks.empty()) combined.energy_of_ranks.clear();  // not all ranks are metered
    if (!combined.energy_of_ranks.empty())
        combined.energy_of_ranks[static_cast<std::size_t>(rank)] = own_outcome.energy_of_ranks.front();
    combined.seconds = std::max(combined.seconds, own_outcome.seconds);
    combined.ranks[static_cast<std::size_t>(rank)] = own_outcome.ranks.front();
    combined.compute_seconds += own_outcome.compute_seconds / ranks_;
    combined.waits += own_outcome.waits * (1.0 / ranks_);
    combined.padded_tokens += own_outcome.padded_tokens;
    combined.work += own_outcome.work;
    if (step.added_ranks < ranks_) return;
    records::StepOutcome outcome = std::move(combined);
    steps_.erase(own_outcome.step);
    record(outcome);
}

}  // namespace trireme::run
