// Trains the stages of a rank: executes the training steps and updates the parameters.
#pragma once

#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "trireme/base/progress.hpp"
#include "trireme/checkpoint/state_view.hpp"
#include "trireme/comm/step_gather.hpp"
#include "trireme/device/trace.hpp"
#include "trireme/layout/links.hpp"
#include "trireme/rank/non_finite.hpp"
#include "trireme/rank/rank_model.hpp"
#include "trireme/rank/state_moves.hpp"
#include "trireme/rank/step_energy.hpp"
#include "trireme/rank/stopping.hpp"
#include "trireme/records/evaluation.hpp"
#include "trireme/records/step_outcome.hpp"
#include "trireme/setup/step_planner.hpp"

namespace trireme::rank {

// A rank that trains, its device, and the objects that observe its steps.
struct TrainingRank {
    int rank = 0;  // in the job
    device::Stream stream;
    device::Trace* trace = nullptr;  // records events; may be null
    Stopping* stopping = nullptr;    // finds reasons to stop after a step; null if the run never stops early
    std::optional<model::ParameterTensors> values = {};  // parameters that stay from the previous plan
};

class ParameterUpdates;

class RankTrainer : private stage::StepEvents {
public:
    // `job`, `current` and the pointers in `rank` must outlive this object.
    RankTrainer(const setup::Job& job, const setup::PlanState& current, TrainingRank rank, RankGroups groups);
    ~RankTrainer() override;

    // Initializes the parameters and, if the run resumes, the optimizer state. Communicates nothing.
    void fill(const InitialValues& values);

    // Returns views of the rank's parameters and optimizer state, between segments; empty on an idle rank.
    std::vector<checkpoint::StateView> list_state_views() const;
    checkpoint::UpdateCounts update_counts() const;  // of the trained parameters that the rank holds
    // Returns the state from which this rank chooses the channels to prune; empty if it may not prune channels.
    std::optional<model::ResizingState> resizing_state();
    // Sets a function that is called just before parameters or optimizer state are overwritten.
    void set_before_update_callback(std::function<void()> call);
    // Called when the state has its values. Reserves the memory to which steps may offload optimizer state, and
    // moves this state to the buffers of a step. On a CPU, the memory is a file in `folder`.
    void prepare_offload(const std::filesystem::path& folder = {});

    // Collective over all ranks. Begins the segment of steps `first` (from 0) to `end` - 1. No micro-batch is
    // in flight before or after a segment. `next_plan` is the number of the plan that replaces the current one
    // after the segment, with which the records of the last step are compared; 0 if none is known. With
    // `measures_passes`, records have the times of passes also on a GPU.
    void begin_segment(std::size_t first, std::size_t end, std::uint64_t next_plan = 0,
                       bool measures_passes = false);
    // Collective over all ranks. Executes the next step, and returns the outcomes of all steps that this call
    // settles, in order. A step is settled when the records of all ranks have arrived. With a synchronous
    // schedule, each call settles the step that it executes. If steps overlap, a call settles an earlier step
    // or none, but the call for the last step of a segment settles all remaining steps.
    std::vector<records::StepOutcome> step();
    // Returns the joules of waits after the last step, which no outcome contains.
    double take_last_joules() { return step_energy_.take_rest(); }

    // Called on all ranks after the same step. Ends the segment after the steps that have begun. Returns its
    // new end: the last step + 1.
    std::size_t end_segment_early();
    // Collective over all ranks. Ends the segment early, and discards the outcomes of its steps in flight.
    void drain();

    // Collective over all ranks, between segments. Repeats step `step` (from 0) without its update, and checks
    // the values that each kernel reads and writes. The parameters must be those with which the step was first
    // executed. Returns this rank's finding; empty if all values are finite.
    std::optional<NonFiniteFinding> repeat_with_checks(std::size_t step);

    // Collective over `control`, between segments. Evaluates the validation samples at the highest clock.
    records::Evaluation evaluate(comm::Communicator& control);
    void restore_clock() { stream_.restore_clock(); }  // called between segments

    // Collective over each team, between segments. Skips channels and offloads matmuls as the plan says, and
    // chooses the skipped channels anew.
    void rebalance_matmuls();

    // Collective over `all`, which has all ranks, between segments. Calls measure_rank_links().
    layout::RankLinks measure_links(comm::Communicator& all);

    // Moves the state out of this trainer, for the trainer of the next plan. Afterwards the trainer can only be
    // destroyed.
    RankState take_state();
    // Returns the memory that receives the state of the previous plan.
    StateDestination state_destination();
    // Hands over a move of moments, for which the update of the next step waits.
    void await_moments(std::unique_ptr<OptimizerStateMove> moments);

    // Only for ghost runs. Charges later passes as a whole: see ghost_passes.hpp. `shared_times` may be null.
    void charge_passes_as_whole(std::shared_ptr<stage::PassTimes> shared_times);
    // Collective over the team. Called after charge_passes_as_whole(): measures the times of the team's passes.
    void measure_team_passes();

    std::string describe_position() const;  // for the watchdog: see RankModel::describe_position()

private:
    struct StepInFlight;

    void look_ahead();
    void prepare_next_step();
    std::unique_ptr<StepInFlight> prepare_step(std::size_t step);
    void add_step(std::size_t step);
    void add_batches(StepInFlight& step, const std::vector<plan::Microbatch>& microbatches);
    bool is_ghost_run() const { return job_.memory_space == device::MemorySpace::ghost; }
    void after_layer() override;
    void update(int step) override;
    bool validate(int step) override;
    void prepare_rebalancing();
    void restore_pruned_channels(const checkpoint::StoredModel& stored);
    void set_undecayed_channels();
    void post_record(const StepResult& result, double begin);
    records::StopReason request_stop();
    records::StepOutcome settle_step();

    const setup::Job& job_;
    const setup::PlanState& current_;
    device::Trace* trace_;
    Stopping* stopping_;
    device::Stream stream_;
    RankModel model_;
    std::unique_ptr<ParameterUpdates> updates_;
    setup::StepPlanner planner_;
    bool has_restored_channels_ = false;  // from a checkpoint, and the other ranks do not know them yet
    comm::StepGather record_gather_;

    // The current segment. `executed_steps_` and `settled_steps_` count its steps.
    std::size_t segment_begin_ = 0;  // first step of the segment, counted from 0 in the run
    std::size_t segment_end_ = 0;    // last step + 1
    std::uint64_t next_plan_ = 0;    // see begin_segment()
    std::deque<std::unique_ptr<StepInFlight>> unsettled_steps_;  // steps that were added to model_
    std::unique_ptr<StepInFlight> next_step_;  // prepared, but not added to model_; may be null
    int executed_steps_ = 0, settled_steps_ = 0;
    std::optional<Progress> progress_;  // progress line of the current step; empty between steps
    StepEnergy step_energy_;
};

}  // namespace trireme::rank
