// The step loop drives ranks through this interface: ranks that compute, and ghosts, which simulate.
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

// A run and what it has come to. Ranks that compute have one each, ghosts share one.
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
    // True if this rank decides on plans and records what happens.
    virtual bool keeps_records() const = 0;

    // Collective. Prints what would be done; throws ConfigError if something keeps it from being done.
    virtual void show_plan() = 0;
    // Collective. Everything up to the first step; `trace` outlives the backend. Throws ConfigError.
    virtual void prepare(device::Trace* trace) = 0;

    // The trainer of the current plan, and the end of its stretch of steps after `first` steps.
    virtual rank::RankTrainer& trainer() = 0;
    virtual std::size_t end_of_stretch(std::size_t first) const = 0;
    // Passes the outcome of a step to `record`, on the ranks that keep records, once all ranks have reported
    // it.
    virtual void settle(records::StepOutcome outcome,
                        const std::function<void(records::StepOutcome&)>& record) = 0;

    // Collective. Returns when the records of all earlier steps are complete.
    virtual void wait_for_records() = 0;
    // Collective. Returns the change of plan that is due after `step` steps if memory suffices for it, and null
    // otherwise.
    virtual std::shared_ptr<adapt::Choice> choose(std::size_t step) = 0;
    // Collective.
    virtual records::PlanChange change_plan(adapt::Choice& choice, std::size_t step) = 0;

    // Collective. Empty if there is nothing to evaluate.
    virtual std::optional<records::Evaluation> evaluate() = 0;
    // Collective. Begins a checkpoint of the state after `step` steps; the run ends after the last one.
    virtual void save(std::size_t step, bool is_last) = 0;
    // Lets a checkpoint that is being written go on. Never waits.
    virtual void advance_saving() = 0;
    virtual void finish_saving() = 0;
    // Collective, after the last step. The figures of merit with what the run cost.
    virtual records::Figures figures(const std::optional<records::Evaluation>& validation) = 0;
    // Collective, after the records are written. Throws if the last checkpoint was lost.
    virtual void finish() = 0;
};

// The session, control group and watchers of a rank that trains. All of them outlive the backend.
struct RankSurroundings {
    const comm::Session& session;
    comm::Communicator& control;
    rank::Watchdog& watchdog;
    rank::Stopping& stopping;
    Continuation& continuation;
};

// Collective over all ranks, which compute. Sets the run up, after the checkpoint that --resume names if there
// is one. Throws ConfigError.
std::unique_ptr<Backend> real_backend(const config::RunConfig& config, const RankSurroundings& rank,
                                      device::StopSignals* signals);

// Collective over all ranks, which are ghosts in one process: they have shapes and costs without arithmetic, in
// simulated time. Rank 0 sets the run up for all. Throws ConfigError.
std::unique_ptr<Backend> ghost_backend(const config::RunConfig& config, const comm::Session& session,
                                       comm::Communicator& control, device::Patience patience);

// Collective over all ranks. Trains from the first step to the last one, or until something stops the run.
Ending run_steps(Backend& backend, rank::Tracing& tracing, const comm::Session& session,
                 comm::Communicator& control);

}  // namespace trireme::run
