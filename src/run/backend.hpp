// The interface through which the step loop drives a rank. It has two implementations: for ranks that compute,
// and for ranks of a ghost run, which only simulate.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "run/continuation.hpp"
#include "run/recorder.hpp"
#include "trireme/adapt/plan_chooser.hpp"
#include "trireme/comm/session.hpp"
#include "trireme/rank/rank_trainer.hpp"
#include "trireme/rank/tracing.hpp"
#include "trireme/rank/watchdog.hpp"
#include "trireme/run/train.hpp"

namespace trireme::run {

// A run and its current state. Each rank that computes has its own RunContext; all ranks of a ghost run share
// one.
struct RunContext {
    // `recorded` are the decisions of --decisions. `writes` has the same meaning as in Recorder().
    RunContext(setup::Setup setup, const std::vector<int>& nodes, std::vector<plan::Decision> recorded,
               records::Manifest manifest, bool writes)
        : job(std::move(setup.job)),
          current(std::move(setup.current)),
          plan_chooser(job, current, std::move(setup.origin), nodes, std::move(recorded)),
          recorder(job, std::move(manifest), writes) {}
    RunContext(const RunContext&) = delete;
    RunContext& operator=(const RunContext&) = delete;

    const setup::Job job;
    setup::PlanState current;
    adapt::PlanChooser plan_chooser;
    Recorder recorder;
};

// "Collective" means collective over all ranks.
class Backend {
public:
    virtual ~Backend() = default;

    virtual RunContext& context() = 0;
    // True if this rank chooses plans and records events: every rank that computes, and rank 0 of a ghost run.
    virtual bool keeps_records() const = 0;

    // Collective. Rank 0 prints what the run would do (--dry-run). Throws ConfigError if the run is impossible.
    virtual void show_plan() = 0;
    // Collective. Prepares the first step: makes the trainer and initializes its state. `trace` must outlive
    // the backend. Throws ConfigError.
    virtual void prepare(device::Trace* trace) = 0;

    // The trainer of the current plan.
    virtual rank::RankTrainer& trainer() = 0;
    // Returns the end of the segment that begins with step `first` (from 0): its last step + 1. A segment
    // consists of steps between which the plan does not change, so micro-batches may stay in flight.
    virtual std::size_t find_segment_end(std::size_t first) const = 0;
    // Calls `record` with the outcome of a step over all ranks. In a ghost run, `outcome` has only this rank's
    // values, and only the last rank that calls settle() for the step calls `record`.
    virtual void settle(records::StepOutcome outcome,
                        const std::function<void(records::StepOutcome&)>& record) = 0;

    // Collective. Returns when all ranks have called settle() for all earlier steps.
    virtual void wait_for_records() = 0;
    // Collective. Returns the change of plan that is due after `step` steps; null if there is none, or if
    // memory does not suffice for it.
    virtual std::shared_ptr<adapt::Choice> choose(std::size_t step) = 0;
    // Collective. Changes to the plan of `choice` after `step` steps.
    virtual records::PlanChange change_plan(adapt::Choice& choice, std::size_t step) = 0;

    // Collective. Returns nothing if there is nothing to evaluate.
    virtual std::optional<records::Evaluation> evaluate() = 0;
    // Collective. Starts a checkpoint of the state after `step` steps. `is_last` is true for the last
    // checkpoint of the run.
    virtual void save(std::size_t step, bool is_last) = 0;
    // Progresses a checkpoint that is being written. Never waits.
    virtual void advance_saving() = 0;
    // Waits until the checkpoint is written.
    virtual void finish_saving() = 0;
    // Collective. Called after the last step. Returns the figures of merit if keeps_records() is true.
    virtual records::Figures compute_figures(const std::optional<records::Evaluation>& validation) = 0;
    // Collective. Called after the records are written. Throws if the last checkpoint could not be written.
    virtual void finish() = 0;
};

// The objects that a rank needs to train. They must outlive the backend.
struct RankResources {
    const comm::Session& session;
    comm::Communicator& control;
    rank::Watchdog& watchdog;
    rank::Stopping& stopping;
    Continuation& continuation;
};

// Collective over all ranks. Sets up a run on ranks that compute. If --resume names a checkpoint, the run
// resumes from it. Throws ConfigError.
std::unique_ptr<Backend> make_real_backend(const config::RunConfig& config, const RankResources& resources,
                                           device::StopSignals* signals);

// Collective over all ranks, which share one process. Sets up a ghost run: it has shapes and costs but no
// values, and simulated time. Rank 0 sets up the run for all ranks. Throws ConfigError.
std::unique_ptr<Backend> make_ghost_backend(const config::RunConfig& config, const comm::Session& session,
                                            comm::Communicator& control, device::WaitPolicy wait_policy);

// Collective over all ranks. Trains from the first step to the last one, or until the run is stopped.
Ending run_steps(Backend& backend, rank::Tracing& tracing, const comm::Session& session,
                 comm::Communicator& control);

}  // namespace trireme::run
