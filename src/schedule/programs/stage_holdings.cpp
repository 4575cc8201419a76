#include "schedule/programs/stage_holdings.hpp"

namespace trireme::schedule {

StageHoldings::StageHoldings(const PipelineShape& shape)
    : microbatches_(static_cast<std::size_t>(shape.microbatches)) {
    std::vector<std::vector<int>> held_stages(static_cast<std::size_t>(shape.teams));
    for (int stage = 0; stage < shape.stages(); ++stage) {
        for (const int team : shape.holders[static_cast<std::size_t>(stage)]) {
            held_stages[static_cast<std::size_t>(team)].push_back(stage);
        }
    }
    for (int team = 0; team < shape.teams; ++team) {
        first_index_.push_back(holdings_.size());
        for (const int stage : held_stages[static_cast<std::size_t>(team)]) holdings_.push_back({team, stage});
    }
    first_index_.push_back(holdings_.size());
    holding_of_pass_.reserve(shape.holders.size() * microbatches_);
    for (int stage = 0; stage < shape.stages(); ++stage) {
        for (int m = 0; m < shape.microbatches; ++m) {
            std::size_t index = first_index(shape.find_executor(stage, m));
            while (holdings_[index].stage != stage) ++index;
            holding_of_pass_.push_back(index);
        }
    }
}

}  // namespace trireme::schedule
