// Plans the micro-batches of training steps from the lengths of their samples, which are known before the step.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "trireme/data/sample_index.hpp"
#include "trireme/plan/microbatch.hpp"
#include "trireme/policy/steps.hpp"
#include "trireme/setup/model_flops.hpp"
#include "trireme/setup/sample_homes.hpp"
#include "trireme/setup/setup.hpp"
#include "trireme/setup/step_fitter.hpp"

namespace trireme::setup {

// The micro-batches of a step, in the order of the plan. Some may be empty.
struct PlannedStep {
    std::size_t step = 0;  // from 0
    StepSize size = {};
    std::vector<plan::Microbatch> microbatches;
    // Only if the recomputation of steps may differ. The bytes are 0 if no rank has a deficit; see
    // StepPlanner::predict_memory().
    StepFit fit = {};
    // The hash of `microbatches` and `fit.levels`, below 2^53, so that a double holds it exactly.
    std::uint64_t hash = 0;
    double planning_seconds = 0;  // time in which this rank planned the step; 0 in a simulation

    std::size_t count_filled() const;  // number of micro-batches with samples
};

// Returns the number n of steps by which ranks compare planned steps in advance. The record of step k carries
// the hash of step k + n, so that ranks compare a step before they execute it. The first n steps of a run are
// compared when the run starts. After a change of plan, ranks compare the hash of the new plan.
std::size_t count_steps_to_compare(const plan::Plan& plan);

// Every rank plans all steps itself, with the same result, so that ranks never send planned steps.
class StepPlanner {
public:
    StepPlanner(const Job& job, const PlanState& current);  // keeps references to the arguments
    ~StepPlanner();

    // Returns the micro-batches of a step. The reference is valid until the next call for another step. Throws
    // ConfigError if --length forms micro-batches by time, and the plan has too few micro-batches for this
    // step, or for the reason of StepFitter::fit().
    const PlannedStep& plan_step(std::size_t step);

    // Returns PlannedStep::fit of a step. With --elastic length, the bytes are set.
    StepFit predict_memory(std::size_t step);

    // Returns PlannedStep::hash of a step; 0 if `step` is after the last step of the run.
    std::uint64_t find_hash(std::size_t step);
    // Returns the shapes of the micro-batches of a step.
    std::vector<stage::BatchShape> list_shapes(std::size_t step);

private:
    struct Work;
    struct Memory;

    std::vector<plan::MicrobatchShape> count_shapes(const PlannedStep& planned) const;
    std::vector<std::vector<plan::SampleVisit>> form_microbatches(const std::vector<plan::SampleVisit>& visits,
                                                                  StepFit& fit);

    const Job& job_;
    const PlanState& current_;
    data::Sampler sampler_;
    SampleHomes homes_;
    std::deque<PlannedStep> recent_steps_;
    std::unique_ptr<Work> work_;      // null if micro-batches have equal numbers of samples
    std::unique_ptr<Memory> memory_;  // null without --elastic length
};

// Returns why the plan cannot execute one of the remaining steps: --length forms micro-batches by time, and the
// step needs more of them than the plan has. Returns an empty text if the plan can execute all steps.
std::string explain_lack_of_microbatches(const Job& job, const PlanState& current);
// Throws ConfigError for this reason, unless another plan may replace the plan before the step.
void check_coming_steps(const Job& job, const PlanState& current);

}  // namespace trireme::setup
