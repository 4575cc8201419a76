// Decides when a run must end because its loss or gradients are not finite.
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

    // Collective over all ranks. Called once the outcome of a step is known. If its update is the first one
    // that was skipped, repeats the step with value checks and describes the first non-finite value in
    // `outcome`.
    void locate(records::StepOutcome& outcome, const plan::Plan& plan, rank::RankTrainer& trainer,
                comm::Communicator& control, device::Trace* trace);

    // Called for each step in order. Returns why the run cannot continue, and what to do; empty if it
    // continues.
    std::optional<std::string> complaint_about(const records::StepOutcome& outcome);

private:
    config::OnNan on_nan_;
    int skipped_in_a_row_ = 0;
    std::size_t first_skipped_ = 0;  // counted from 1
    std::string first_cause_;        // cause of that step; empty if no step was skipped
};

}  // namespace trireme::run
