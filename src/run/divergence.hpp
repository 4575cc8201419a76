// When a run has to end because its numbers are none.
#pragma once

#include <optional>
#include <string>

#include "trireme/config/config.hpp"
#include "trireme/rank/rank_trainer.hpp"
#include "trireme/records/step_outcome.hpp"

namespace trireme::run {

class Divergence {
public:
    explicit Divergence(config::OnNan on_nan) : on_nan_(on_nan) {}

    // Collective over all ranks, once a step is known to all. If its update is the first one that was skipped,
    // executes the step again with checks and notes the first value that is not finite in `outcome`.
    void locate(records::StepOutcome& outcome, const plan::Plan& plan, rank::RankTrainer& trainer,
                comm::Communicator& control, device::Trace* trace);

    // Of the steps one after another: why there can be no next one, and what to do; nothing: there can.
    std::optional<std::string> complaint_about(const records::StepOutcome& outcome);

private:
    config::OnNan on_nan_;
    int skipped_in_a_row_ = 0;
    std::size_t first_skipped_ = 0;  // counted from 1
    std::string first_cause_;        // of that step; empty: no step was skipped
};

}  // namespace trireme::run
