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

    // Collective over all ranks. Called for each step in order, as soon as its outcome is known. Acts only on
    // the first step of the run whose update was skipped. Repeats this step and tests the inputs and outputs of
    // each kernel. Then describes in `outcome.first_non_finite` which kernel produced the first non-finite
    // value. If rank::can_repeat_step() is false, describes the ranks whose loss or gradient is not finite
    // instead. `trace` may be null.
    void find_cause(records::StepOutcome& outcome, const plan::Plan& plan, rank::RankTrainer& trainer,
                    comm::Communicator& control, device::Trace* trace);

    // Called for each step in order. Returns why the run must end and what the user can do; empty if the run
    // continues.
    std::optional<std::string> find_complaint(const records::StepOutcome& outcome);

private:
    config::OnNan on_nan_;
    int skipped_in_a_row_ = 0;            // number of consecutive skipped updates
    std::size_t first_skipped_step_ = 0;  // first step of the run whose update was skipped, from 1; 0 if none
    std::string first_cause_;             // why that update was skipped; empty if no update was skipped
};

}  // namespace trireme::run
