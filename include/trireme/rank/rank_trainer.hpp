// A rank's part of a training run: its part of the model, and what it does in a step.
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

// Which rank trains, and with what.
struct TrainingRank {
    int number = 0;
    device::Stream stream;
    device::Trace* trace = nullptr;  // where it notes what it does when; none: nowhere
    Stopping* stopping = nullptr;    // asked behind each step; none: nothing stops it early
};

class ParameterUpdates;

class RankTrainer : private stage::StepEvents {
public:
    // Everything but the groups outlives it.
    RankTrainer(const setup::Job& job, const setup::PlanState& current, const TrainingRank& rank,
                RankGroups groups);
    ~RankTrainer() override;

    // Fills the parameters and, if the run resumes, the optimizer's state. Communicates nothing.
    void fill(const FirstValues& values);

    // What this rank has of the run's state, and how many updates are behind it; between stretches.
    std::vector<checkpoint::StateView> views() const;
    std::size_t updates() const;
    // What it remembers beside that of what it leaves out; none where that is nothing.
    std::optional<model::ResizingState> resizing_state();
    // Called before any of it changes.
    void call_before_update(std::function<void()> call);

    // Collective over all ranks. The steps of a stretch, `first` (from 0) to `end` - 1: before it and behind it
    // nothing is in flight. Each step gives what is known by then, in order: of a synchronous schedule its own
    // outcome, otherwise that of a step some steps ago, and the last one all that are left.
    void begin_stretch(std::size_t first, std::size_t end);
    std::vector<records::StepOutcome> step();

    // On all ranks behind the same step. Begins no step that is not begun: the end of the stretch, from now on.
    std::size_t end_stretch_early();
    void drain();  // executes the steps that are begun

    // Collective over all ranks; between stretches. Executes a step again, without its update, on a stream that
    // checks values. The parameters must be those that the step had.
    std::optional<NonFiniteFinding> repeat_with_checks(std::size_t step);

    // Collective over `control`. On the validation samples; between stretches.
    records::Evaluation evaluate(comm::Communicator& control);

    // Collective over each team; between stretches. What the plan has this rank leave out or others compute, of
    // channels that are chosen anew.
    void share_products();

    // Collective over all ranks; between stretches.
    layout::RankLinks measure_links(comm::Communicator& all);

    // For the trainer of the next plan: what this one leaves, which is of no use any more, and where it goes.
    RankState take_state();
    StatePlace state_place();
    // Moments that come while the next step is made, until it updates.
    void await(std::unique_ptr<MomentJourney> moments);

    // Of ghosts: passes like an earlier one, or one in `shared` (or none), are charged as a whole.
    void charge_whole_passes(std::shared_ptr<stage::PassTimes> shared);
    // Collective over the team: its passes, for all who share.
    void rehearse();

    std::string position() const;

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
    bool has_gone_on_ = false;  // with what a checkpoint says of channels, which the team does not know yet
    comm::Tally records_;

    // Of the stretch; steps of it count from 0.
    std::size_t first_ = 0;
    std::size_t end_ = 0;
    std::deque<std::unique_ptr<StepInFlight>> steps_;  // begun, or looked ahead to, and not settled
    std::unique_ptr<StepInFlight> next_;               // that nobody has begun; or none
    int executed_ = 0;
    int settled_ = 0;
    std::optional<Progress> progress_;  // of the step that is executed
    StepEnergy energy_{job_.gpu.get()};
};

}  // namespace trireme::rank
