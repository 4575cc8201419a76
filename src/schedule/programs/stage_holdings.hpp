// Numbers the pairs (team, stage held), and finds the one that executes a micro-batch of a stage.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::schedule {

// A stage that a team holds.
struct Holding {
    int team = 0;
    int stage = 0;
};

class StageHoldings {
public:
    explicit StageHoldings(const PipelineShape& shape);

    const std::vector<Holding>& all() const { return all_; }  // by team, then by stage
    std::size_t first_of(int team) const { return first_[static_cast<std::size_t>(team)]; }
    std::size_t end_of(int team) const { return first_[static_cast<std::size_t>(team) + 1]; }
    std::span<const Holding> of(int team) const {
        return std::span(all_).subspan(first_of(team), end_of(team) - first_of(team));
    }

    // A cell is a (stage, micro-batch) pair, numbered below cells(). holding_of() is the holding that executes
    // it.
    std::size_t cells() const { return holding_of_.size(); }
    std::size_t cell(int stage, int microbatch) const {
        return static_cast<std::size_t>(stage) * microbatches_ + static_cast<std::size_t>(microbatch);
    }
    std::size_t holding_of(std::size_t cell) const { return holding_of_[cell]; }
    int team_of(std::size_t cell) const { return all_[holding_of_[cell]].team; }

private:
    std::size_t microbatches_;
    std::vector<Holding> all_;
    std::vector<std::size_t> first_;  // per team, then the end of the last
    std::vector<std::size_t> holding_of_;
};

}  // namespace trireme::schedule
