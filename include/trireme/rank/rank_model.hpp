// A rank's stages with the engine that drives them: a part of the model that all ranks are together.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "trireme/data/batch.hpp"
#include "trireme/model/helped_products.hpp"
#include "trireme/optim/optimizer.hpp"
#include "trireme/pipeline/engine.hpp"
#include "trireme/plan/observation.hpp"
#include "trireme/rank/batch_view.hpp"
#include "trireme/rank/rank_groups.hpp"
#include "trireme/setup/plan_memory.hpp"
#include "trireme/stage/resizer.hpp"

namespace trireme::rank {

// `seconds_of` is of the device that is simulated, if one is.
device::Stream make_stream(config::DeviceKind device, int threads,
                           const device::KernelSeconds& seconds_of = {});
int threads_of(const device::Stream& stream);

// What programs are executed with, beside their micro-batches.
struct RoundOptions {
    RandomKey dropout_key = {};
    double label_smoothing = 0;
    stage::StepEvents* events = nullptr;  // of training
};

// What came of a step on this rank.
struct RoundResult {
    std::map<int, model::LossState>
        outcomes;                   // of the micro-batches whose last stage is here, on one rank of its team
    std::size_t padded_tokens = 0;  // that entered the model here; likewise counted by one rank
};

// The source of the first values of parameters and moments.
struct FirstValues {
    const checkpoint::StoredModel* stored = nullptr;  // null: parameters are random
    bool resumes = false;                             // `stored` is a checkpoint of this run
    bool goes_on_resizing = false;  // ranks go on with the channels that the checkpoint says they prune
};

class RankModel {
public:
    // `job`, `current` and `trace` outlive it. It records what it does in training in `trace`, unless that is
    // null.
    RankModel(const setup::Job& job, const setup::PlanState& current, int rank, RankGroups groups,
              device::Trace* trace = nullptr);

    bool is_idle() const { return !stages_; }
    int rank() const { return rank_; }
    const RankGroups& groups() const { return groups_; }
    stage::LocalStages& stages() { return *stages_; }
    const stage::LocalStages& stages() const { return *stages_; }

    // Fills the parameters, with the same values for every layout, and the master weights of `optimizer` if it
    // has them. Communicates nothing.
    void fill(device::Stream& stream, std::uint64_t seed, const FirstValues& values,
              optim::Optimizer* optimizer = nullptr);
    // The bytes of the stored model that fill() reads.
    std::size_t stored_bytes(const checkpoint::StoredModel& stored) const;

    // Of a rank that is idle all these do nothing.
    //
    // Nothing is in flight. `programs`, and the micro-batches of each step that is added, outlive the round;
    // those that this rank has nothing to do with are not looked at. Steps are added before they are executed,
    // the first ones and as many as the programs look ahead before begin_steps().
    void begin(device::Stream& stream, const plan::ProvedPrograms& programs, const RoundOptions& options);
    void add_step(const std::deque<BatchView>& microbatches, double loss_scale);
    // Point-to-point with neighbours, and collective over the team. Executes what comes before the first step,
    // and then one step after the other.
    void begin_steps();
    RoundResult execute_step(int step);
    // Returns when nothing is in flight any more.
    void finish();

    // All this for one step.
    RoundResult execute(device::Stream& stream, const plan::ProvedPrograms& programs,
                        const std::vector<data::Batch>& batches);

    // Through which batches reach `stream`; null: it reads them where they are.
    device::ByteSender* sender_to(device::Stream& stream);

    // Whether the gradients of a step of the round have been added up, in this rank's shards; and the losses of
    // its micro-batches that have ended here, counted by one rank of a team.
    bool has_summed(int step) const { return !is_idle() && stages_->has_summed(step); }
    double own_loss(int step) const;

    // Whether this rank executes some stage of a micro-batch.
    bool needs(const schedule::PipelineShape& shape, int microbatch) const;

    // From here on this rank may leave out a part of its products, by the weights as they are, or have it
    // computed by others, or compute some of theirs.
    void prepare_to_share_products(device::Stream& stream, const config::ResizeConfig& config,
                                   std::uint64_t seed);
    bool may_share_products() const { return resizer_ != nullptr; }
    // Collective over the team; between two steps, with nothing in flight. As the plan has it now, of channels
    // that are chosen anew.
    void share_products(device::Stream& stream);
    optim::LeftOuts left_out() const;

    // What it remembers of what it leaves out, once it may; none where that is nothing.
    std::optional<model::ResizingState> resizing_state() const;
    void restore(const model::ResizingState& state) { resizer_->restore(state); }
    // Collective over the team. As share_products(), of the channels that were chosen before.
    void go_on_sharing_products();

    double part_done() const;      // of the programs of the training step that is executed
    std::string position() const;  // "stands at 2RECV_B0, instruction 7 of 20"

    plan::RankWaits waits() const;  // since the last call of reset_traffic()
    void reset_traffic();

private:
    void fill_rounded(device::Stream& stream, std::uint64_t seed, const FirstValues& values,
                      optim::Optimizer& optimizer);
    void make_room(device::Stream& stream);
    bool speaks_for_team() const;
    std::vector<layout::Migration> migrations_of_team() const;
    void lend(const std::vector<layout::Migration>& migrations);
    std::unique_ptr<pipeline::Engine> make_engine(const plan::ProvedPrograms& programs,
                                                  device::Trace* trace) const;
    pipeline::Engine& engine() const { return *(programs_->shape.is_training ? training_ : evaluation_); }

    const setup::Job& job_;
    const setup::PlanState& current_;
    int rank_;
    RankGroups groups_;
    std::unique_ptr<stage::LocalStages> stages_;  // none: idle
    setup::InFlight in_flight_;
    std::unique_ptr<device::ByteSender> sender_;               // none: batches are read where they are
    std::unique_ptr<stage::Resizer> resizer_;                  // none: every rank computes what it holds
    std::unique_ptr<model::HelpedProducts> helped_;            // likewise, and none where the team is one rank
    std::vector<layout::Migration> migrations_;                // of the period, within the team
    std::unique_ptr<pipeline::Engine> training_, evaluation_;  // of the programs of each

    // Of the round that is being executed.
    const plan::ProvedPrograms* programs_ = nullptr;
    schedule::Program one_step_;  // of the team
    std::optional<stage::Round> round_;
};

}  // namespace trireme::rank
