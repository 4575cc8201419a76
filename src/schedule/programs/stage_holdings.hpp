// A holding is a pair of a team and a stage that the team holds. StageHoldings numbers the holdings of a
// pipeline shape, and finds the holding that executes a micro-batch in a stage.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::schedule {

struct Holding {
    int team = 0;
    int stage = 0;
};

class StageHoldings {
public:
    explicit StageHoldings(const PipelineShape& shape);  // `shape` describes one step

    const std::vector<Holding>& all_holdings() const { return holdings_; }  // ordered by team, then by stage
    // In all_holdings(), the holdings of a team have the indices first_index(team) to end_index(team) - 1.
    std::size_t first_index(int team) const { return first_index_[static_cast<std::size_t>(team)]; }
    std::size_t end_index(int team) const { return first_index_[static_cast<std::size_t>(team) + 1]; }
    std::span<const Holding> find_team_holdings(int team) const {
        return std::span(holdings_).subspan(first_index(team), end_index(team) - first_index(team));
    }

    // A pass is the forward and the backward of one micro-batch in one stage. pass_index() numbers the passes
    // from 0 to count_passes() - 1: by stage, and within a stage by micro-batch of the step. find_holding()
    // returns the index in all_holdings() of the holding that executes a pass. find_team() returns the team of
    // that holding.
    std::size_t count_passes() const { return holding_of_pass_.size(); }
    std::size_t pass_index(int stage, int microbatch) const {
        return static_cast<std::size_t>(stage) * microbatches_ + static_cast<std::size_t>(microbatch);
    }
    std::size_t find_holding(std::size_t pass) const { return holding_of_pass_[pass]; }
    int find_team(std::size_t pass) const { return holdings_[holding_of_pass_[pass]].team; }

private:
    std::size_t microbatches_;  // per step
    std::vector<Holding> holdings_;
    std::vector<std::size_t> first_index_;      // per team: its first index in holdings_; then holdings_.size()
    std::vector<std::size_t> holding_of_pass_;  // per pass: index in holdings_
};

}  // namespace trireme::schedule
