// The interface through which the step loop drives ranks: ranks that compute, and ghosts, which only simulate.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "run/continuation.hpp"
#include "run/recorder.hpp"
#include "trireme/adapt/deciding.hpp"
#include "trireme/comm/session.hpp"
#include "trireme/rank/rank_trainer.hpp"
#include "trireme/rank/tracing.hpp"
#include "trireme/rank/watchdog.hpp"
#include "trireme/run/train.hpp"

namespace trireme::run {

// A run and its current state. Ranks that compute have one each; ghosts share one.
struct RunParts {
    RunParts(setup::Setup setup, const std::vector<int>& nodes, std::vector<plan::Decision> recorded,
             records::Manifest manifest, bool writes)
        : job(std::move(setup.job)),
          current(std::move(setup.current)),
          deciding(job, current, std::move(setup.origin), nodes, std::move(recorded)),
          recorder(job, std::move(manifest), writes) {}
    RunParts(const RunParts&) = delete;
    RunParts& operator=(const RunParts&) = delete;

    const setup::Job job;
    setup::PlanState current;
    adapt::Deciding deciding;
    Recorder recorder;
};

class Backend {
public:
    virtual ~Backend() = default;

    virtual RunParts& parts() = 0;
    // True if this rank decides on plans and records events.
    virtual bool keeps_records() const = 0;

    // Collective. Prints what the run would do (--dry-run). Throws ConfigError if the run is impossible.
    virtual void show_plan() = 0;
    // Collective. Prepares everything up to the first step. `trace` must outlive the backend. Throws
    // ConfigError.
    virtual void prepare(device::Trace* trace) = 0;

    // The trainer of the current plan.
    virtual rank::RankTrainer& trainer() = 0;
    // Returns the end of the segment that begins after `first` steps.
    virtual std::size_t end_of_stretch(std::size_t first) const = 0;
    // Passes the outcome of a step to `record` once all ranks have reported it. Of ghosts, only the last one to
    // report calls `record`.
    virtual void settle(records::StepOutcome outcome,
                        const std::function<void(records::StepOutcome&)>& record) = 0;

    // Collective. Returns when the records of all earlier steps are complete.
    virtual void wait_for_records() = 0;
    // Collective. Returns the change of plan that is due after `step` steps; null if there is none, or if
    // memory does not suffice for it.
    virtual std::shared_ptr<adapt::Choice> choose(std::size_t step) = 0;
    // Collective. Changes to the plan of `choice` after `step` steps.
    virtual records::PlanChange change_plan(adapt::Choice& choice, std::size_t step) = 0;

    // Collective. Returns nothing if there is nothing to evaluate.
    virtual std::optional<records::Evaluation> evaluate() = 0;
    // Collective. Starts a checkpoint of the state after `step` steps; `is_last` marks the final save.
    virtual void save(std::size_t step, bool is_last) = 0;
    // Progresses a checkpoint that is being written. Never waits.
    virtual void advance_saving() = 0;
    // Waits until the checkpoint is written.
    virtual void finish_saving() = 0;
    // Collective. Called after the last step. Returns the figures of merit.
    virtual records::Figures figures(const std::optional<records::Evaluation>& validation) = 0;
    // Collective. Called after the records are written. Throws if the last checkpoint was lost.
    virtual void finish() = 0;
};

// The environment of a rank that trains. All of these objects must outlive the backend.
struct RankSurroundings {
    const comm::Session& session;
    comm::Communicator& control;
    rank::Watchdog& watchdog;
    rank::Stopping& stopping;
    Continuation& continuation;
};

// Collective over all ranks. Sets up a run on ranks that compute. If --resume names a checkpoint, the run
// resumes from it. Throws ConfigError.
std::unique_ptr<Backend> real_backend(const config::RunConfig& config, const RankSurroundings& rank,
                                      device::StopSignals* signals);

// Collective over all ranks. Sets up a run on ghosts, which share one process and have shapes and costs without
// arithmetic, in simulated time. Rank 0 sets up the run for all ranks. Throws ConfigError.
std::unique_ptr<Backend> ghost_backend(const config::RunConfig& config, const comm::Session& session,
                                       comm::Communicator& control, device::Patience patience);

// Collective over all ranks. Trains from the first step to the last one, or until the run is stopped.
Ending run_steps(Backend& backend, rank::Tracing& tracing, const comm::Session& session,
                 comm::Communicator& control);

}  // namespace trireme::run
