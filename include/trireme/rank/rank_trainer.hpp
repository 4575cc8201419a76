// Trains a rank's part of the model: executes its steps and updates its parameters.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "trireme/base/progress.hpp"
#include "trireme/checkpoint/state_view.hpp"
#include "trireme/comm/tally.hpp"
#include "trireme/data/sample_index.hpp"
#include "trireme/device/trace.hpp"
#include "trireme/layout/links.hpp"
#include "trireme/optim/optimizer.hpp"
#include "trireme/rank/non_finite.hpp"
#include "trireme/rank/rank_model.hpp"
#include "trireme/rank/state_moves.hpp"
#include "trireme/rank/step_energy.hpp"
#include "trireme/rank/stopping.hpp"
#include "trireme/records/evaluation.hpp"
#include "trireme/records/step_outcome.hpp"

namespace trireme::rank {

// The rank that trains, and its devices and observers.
struct TrainingRank {
    int number = 0;
    device::Stream stream;
    device::Trace* trace = nullptr;  // records events; may be null
    Stopping* stopping = nullptr;    // is asked after each step; null if the run never stops early
};

class ParameterUpdates;

class RankTrainer : private stage::StepEvents {
public:
    // `job`, `current` and the pointers in `rank` must outlive this object.
    RankTrainer(const setup::Job& job, const setup::PlanState& current, const TrainingRank& rank,
                RankGroups groups);
    ~RankTrainer() override;

    // Fills the parameters and, if the run resumes, the optimizer's state. Communicates nothing.
    void fill(const FirstValues& values);

    // Views of this rank's part of the run's state, and the number of updates done. Called between segments.
    std::vector<checkpoint::StateView> views() const;
    std::size_t updates() const;
    // Returns the additional state of the skipped channels; empty if there is none.
    std::optional<model::ResizingState> resizing_state();
    // Sets a function that is called before each update changes the state.
    void call_before_update(std::function<void()> call);

    // Collective over all ranks. Begins the segment of steps `first` (from 0) to `end` - 1. Nothing is in
    // flight before and after a segment.
    void begin_stretch(std::size_t first, std::size_t end);
    // Collective over all ranks. Executes the next step and returns the outcomes that are known by then, in
    // order. A synchronous schedule returns the outcome of the step itself, others that of an earlier step. The
    // last step of a segment returns all remaining outcomes.
    std::vector<records::StepOutcome> step();

    // Called on all ranks after the same step. Begins no further steps, and returns the new end of the segment.
    std::size_t end_stretch_early();
    void drain();  // ends the segment early and executes the steps that have begun

    // Collective over all ranks, between segments. Repeats a step, without its update, on a stream that checks
    // values. The parameters must be those that the step had.
    std::optional<NonFiniteFinding> repeat_with_checks(std::size_t step);

    // Collective over `control`, between segments. Evaluates the validation samples.
    records::Evaluation evaluate(comm::Communicator& control);

    // Collective over each team, between segments. Skips and offloads matmuls as the plan says, with newly
    // chosen channels.
    void share_products();

    // Collective over all ranks, between segments.
    layout::RankLinks measure_links(comm::Communicator& all);

    // Takes the state out of this trainer, which is useless afterwards, for the trainer of the next plan.
    RankState take_state();
    // Returns the memory that receives the state of the previous plan.
    StatePlace state_place();
    // Hands over moments that arrive during the next step, before its update.
    void await(std::unique_ptr<MomentJourney> moments);

    // For ghosts: a pass that equals an earlier one, of this rank or in `shared` (may be null), is charged as a
    // whole.
    void charge_whole_passes(std::shared_ptr<stage::PassTimes> shared);
    // Collective over the team. For ghosts: measures the passes of the team for all ranks that share pass
    // times.
    void rehearse();

    std::string position() const;  // for the watchdog: "stands at 2RECV_B0, instruction 7 of 20"

private:
    struct StepInFlight;

    void look_ahead();
    void prepare_next();
    std::unique_ptr<StepInFlight> prepared(std::size_t step);
    void add_step(std::size_t step);
    void add_batches(StepInFlight& step, const std::vector<plan::SampleVisit>& visits);
    bool is_of_ghosts() const { return job_.place == device::MemorySpace::ghost; }
    void after_layer() override;
    void update(int step) override;
    bool validate(int step) override;
    void prepare_to_share_products();
    void go_on_resizing(const checkpoint::StoredModel& stored);
    void know_spared();
    void report(const RoundResult& result, double begin);
    records::StopReason wish_to_stop();
    records::StepOutcome settle();

    const setup::Job& job_;
    const setup::PlanState& current_;
    device::Trace* trace_;
    Stopping* stopping_;
    device::Stream stream_;
    RankModel model_;
    std::unique_ptr<ParameterUpdates> updates_;
    data::Sampler sampler_;
    bool has_gone_on_ = false;  // channels were restored from a checkpoint, and the team does not know them yet
    comm::Tally records_;

    // The current segment. Its steps count from 0.
    std::size_t first_ = 0;
    std::size_t end_ = 0;
    std::deque<std::unique_ptr<StepInFlight>> steps_;  // added, but not settled
    std::unique_ptr<StepInFlight> next_;               // prepared, but not added; may be null
    int executed_ = 0;
    int settled_ = 0;
    std::optional<Progress> progress_;  // progress of the current step
    StepEnergy energy_{job_.gpu.get()};
};

}  // namespace trireme::rank
