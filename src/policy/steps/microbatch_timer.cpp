#include "policy/steps/microbatch_timer.hpp"

#include <algorithm>

namespace trireme::policy {

MicrobatchTimer::MicrobatchTimer(const schedule::PipelineShape& shape, StageSums& stages)
    : stages_(stages), times_(stages.sums.size()) {
    for (int team = 0; team < shape.teams; ++team) {
        std::vector<std::int64_t> turns(stages.sums.size());
        for (int stage = 0; stage < shape.stages(); ++stage)
            turns[stages.index_of_stage[static_cast<std::size_t>(stage)]] += shape.count_turns(team, stage);
        if (std::ranges::find(turns_of_teams_, turns) == turns_of_teams_.end())
            turns_of_teams_.push_back(std::move(turns));
    }
}

MicrobatchTime MicrobatchTimer::find(const plan::MicrobatchShape& shape) {
    MicrobatchTime time;
    for (std::size_t kind = 0; kind < times_.size(); ++kind) {
        times_[kind] = stages_.sums[kind].find(shape).sum();
        time.slowest_stage = std::max(time.slowest_stage, times_[kind]);
    }
    for (const std::vector<std::int64_t>& turns : turns_of_teams_) {
        std::int64_t load = 0;
        for (std::size_t kind = 0; kind < times_.size(); ++kind) load += turns[kind] * times_[kind];
        time.load = std::max(time.load, load);
    }
    return time;
}

plan::PassTimes MicrobatchTimer::find_stage(int stage, const plan::MicrobatchShape& shape) {
    return stages_.sums[stages_.index_of_stage[static_cast<std::size_t>(stage)]].find(shape);
}

}  // namespace trireme::policy
