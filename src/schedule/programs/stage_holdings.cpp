#include "schedule/programs/stage_holdings.hpp"

namespace trireme::schedule {

StageHoldings::StageHoldings(const PipelineShape& shape)
    : microbatches_(static_cast<std::size_t>(shape.microbatches)) {
    std::vector<std::vector<int>> stages(static_cast<std::size_t>(shape.teams));
    for (int stage = 0; stage < shape.stages(); ++stage) {
        for (const int team : shape.holders[static_cast<std::size_t>(stage)]) {
            stages[static_cast<std::size_t>(team)].push_back(stage);
        }
    }
    for (int team = 0; team < shape.teams; ++team) {
        first_.push_back(all_.size());
        for (const int stage : stages[static_cast<std::size_t>(team)]) all_.push_back({team, stage});
    }
    first_.push_back(all_.size());
    holding_of_.reserve(shape.holders.size() * microbatches_);
    for (int stage = 0; stage < shape.stages(); ++stage) {
        for (int m = 0; m < shape.microbatches; ++m) {
            std::size_t holding = first_of(shape.executor_of(stage, m));
            while (all_[holding].stage != stage) ++holding;
            holding_of_.push_back(holding);
        }
    }
}

}  // namespace trireme::schedule
