// The interface through which the step loop drives a rank. It has two implementations: for ranks that compute,
// and for ranks of a ghost run, which only simulate.
#pragma once

#include <cstdint>
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
    // `recorded` are the decisions of --decisions.
    // `writes` has the same meaning as in Recorder().
    RunContext(setup::Setup setup, std::vector<plan::Decision> recorded, records::Manifest manifest,
               bool writes)
        : job(std::move(setup.job)),
          current(std::move(setup.current)),
          plan_chooser(job, current, std::move(setup.origin), std::move(recorded)),
          recorder(job, std::move(manifest), writes) {}
    RunContext(const RunContext&) = delete;
    RunContext& operator=(const RunContext&) = delete;

    setup::Job job;  // constant from the first step on
    setup::PlanState current;
    adapt::PlanChooser plan_chooser;
    Recorder recorder;
};

struct Segment {
    std::size_t end = 0;          // last step + 1
    std::uint64_t next_plan = 0;  // see RankTrainer::begin_segment()
};

inline std::shared_ptr<adapt::Choice> share(std::optional<adapt::Choice> choice) {
    return choice ? std::make_shared<adapt::Choice>(std::move(*choice)) : nullptr;
}

// "Collective" means collective over all ranks. A ghost run evaluates and saves nothing.
class Backend {
public:
    virtual ~Backend() = default;

    virtual RunContext& context() = 0;
    // True if this rank chooses plans and records events. This is true on every rank that computes, and on rank
    // 0 of a ghost run.
    virtual bool keeps_records() const = 0;

    // Collective. Rank 0 prints what the run would do (--dry-run). Throws ConfigError if the run is impossible.
    virtual void show_plan() = 0;
    // Collective. Prepares the first step: makes the trainer, initializes its state and records the beginning
    // of the run. `trace` must outlive the backend. Throws ConfigError as show_plan() does, or if the run
    // directory cannot be used.
    virtual void prepare(device::Trace* trace) = 0;

    // Returns the trainer of the current plan. prepare() makes the first trainer, and change_plan() may make a
    // new one.
    virtual rank::RankTrainer& trainer() = 0;
    // Returns the segment that begins with step `first` (from 0). The plan does not change within a segment, so
    // that micro-batches may stay in flight between its steps.
    virtual Segment plan_segment(std::size_t first) = 0;
    // Calls `record` with the outcome of a step over all ranks. In a ghost run, `outcome` has only this rank's
    // values, and only the last rank that settles the step calls `record`.
    virtual void settle(records::StepOutcome outcome,
                        const std::function<void(records::StepOutcome&)>& record) = 0;

    // Collective. Called before settle() for the last step of the run: waits for all ranks, and adds the energy
    // of the waits at the end of the run to `outcome`.
    virtual void add_last_energy(records::StepOutcome& outcome) = 0;

    // Collective. Returns when all earlier steps are recorded in context().
    virtual void wait_for_records() = 0;
    // Collective. Returns the change of plan that is due after `step` steps; null if there is none, or if
    // memory does not suffice for it.
    virtual std::shared_ptr<adapt::Choice> choose(std::size_t step) = 0;
    // Collective. Changes to the plan of `choice` after `step` steps. Returns the cost of the change.
    virtual records::PlanChange change_plan(adapt::Choice& choice, std::size_t step) = 0;

    // Collective. Evaluates the validation samples. Returns nothing if there are none, or in a ghost run.
    virtual std::optional<records::Evaluation> evaluate() = 0;
    // Collective. Starts a checkpoint of the state after `step` steps. `is_last` is true for the last
    // checkpoint of the run.
    virtual void save(std::size_t step, bool is_last) = 0;
    // Progresses a checkpoint that is being written. Never waits.
    virtual void advance_saving() = 0;
    // Waits until no checkpoint is being written.
    virtual void finish_saving() = 0;
    // Collective. Called after the last step. Returns the figures of merit, which are empty if keeps_records()
    // is false.
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

// Collective over all ranks. Sets up a run on ranks that compute. If --resume selects a checkpoint, the run
// resumes from it. `signals` may be null. Throws ConfigError.
std::unique_ptr<Backend> make_real_backend(const config::RunConfig& config, const RankResources& resources,
                                           device::StopSignals* signals);

// Collective over all ranks, which share one process. Sets up a ghost run, which has simulated time, and
// tensors with shapes but without values. Rank 0 sets up the run for all ranks. Throws ConfigError.
std::unique_ptr<Backend> make_ghost_backend(const config::RunConfig& config, const comm::Session& session,
                                            comm::Communicator& control, device::WaitPolicy wait_policy);

// Collective over all ranks. Trains until the last step is done, or until the run is stopped.
Ending run_steps(Backend& backend, rank::Tracing& tracing, const comm::Session& session,
                 comm::Communicator& control);

}  // namespace trireme::run
