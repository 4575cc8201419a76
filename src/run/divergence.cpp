#include "run/divergence.hpp"

#include <cmath>

#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"

namespace trireme::run {
namespace {

constexpr int max_skipped_in_a_row = 20;  // consecutive skipped updates after which --on-nan skip ends the run

std::string describe_number(double value) {
    return std::isfinite(value) ? cat(value) : kernels::describe_non_finite(value);
}

std::string describe_non_finite_ranks(const std::vector<int>& ranks) {
    if (ranks.empty())
        return "the loss and gradient are finite on every rank, but not their sum over the ranks";
    return cat("the loss or gradient is not finite on ", ranks.size() == 1 ? "rank " : "ranks ",
               format_ranges(ranks));
}

std::string describe_without_repetition(const records::StepOutcome& outcome, const plan::Plan& plan) {
    return cat("the step cannot be repeated, because schedule ", plan.schedule,
               " has updated parameters since; ", describe_non_finite_ranks(outcome.non_finite_ranks));
}

// Describes the cause if every kernel output of the repeated step was finite.
std::string describe_no_finding(const records::StepOutcome& outcome) {
    if (outcome.non_finite_ranks.empty()) return describe_non_finite_ranks(outcome.non_finite_ranks);
    return "every kernel output was finite when the step was repeated: suspect a fault of memory or network";
}

}  // namespace

void Divergence::find_cause(records::StepOutcome& outcome, const plan::Plan& plan, rank::RankTrainer& trainer,
                            comm::Communicator& control, device::Trace* trace) {
    if (!outcome.is_skipped || !first_cause_.empty()) return;
    if (rank::can_repeat_step(plan.training, on_nan_)) {
        trainer.drain();
        if (trace != nullptr) trace->begin_step(0, 0);  // the following events belong to no step
        const std::string finding = describe_first_finding(control, trainer.repeat_with_checks(outcome.step));
        outcome.first_non_finite =
            finding.empty() ? describe_no_finding(outcome) : cat("first non-finite value: ", finding);
    } else {
        outcome.first_non_finite = describe_without_repetition(outcome, plan);
    }
    first_skipped_step_ = outcome.step + 1;
    first_cause_ = outcome.first_non_finite;
}

std::optional<std::string> Divergence::find_complaint(const records::StepOutcome& outcome) {
    skipped_in_a_row_ = outcome.is_skipped ? skipped_in_a_row_ + 1 : 0;
    const int max_skipped_updates = on_nan_ == config::OnNan::stop ? 1 : max_skipped_in_a_row;
    if (skipped_in_a_row_ < max_skipped_updates) return std::nullopt;
    const std::string description = cat("step ", outcome.step + 1, " has loss ", describe_number(outcome.loss),
                                        " and gradient norm ", describe_number(outcome.gradient_norm));
    if (max_skipped_updates == 1)
        return cat(description, "; ", first_cause_, "; lower --lr, or skip such updates with --on-nan skip");
    return cat(description, ", and the updates of the ", max_skipped_updates - 1,
               " steps before it were skipped too; the first skipped step of the run was step ",
               first_skipped_step_, "; ", first_cause_, "; lower --lr");
}

}  // namespace trireme::run
