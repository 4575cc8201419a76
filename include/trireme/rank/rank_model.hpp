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

namespace trireme {

// `seconds_of` is of the device that is simulated, if one is.
Stream make_stream(DeviceKind device, int threads, const KernelSeconds& seconds_of = {});
int threads_of(const Stream& stream);

// What programs are executed with, beside their micro-batches.
struct RoundOptions {
    RandomKey dropout_key = {};
    double label_smoothing = 0;
    StepEvents* events = nullptr;  // of training
};

// What came of a step on this rank.
struct RoundResult {
    std::map<int, LossState>
        outcomes;                   // of the micro-batches whose last stage is here, on one rank of its team
    std::size_t padded_tokens = 0;  // that entered the model here; likewise counted by one rank
};

// The source of the first values of parameters and moments.
struct FirstValues {
    const StoredModel* stored = nullptr;  // null: parameters are random
    bool resumes = false;                 // `stored` is a checkpoint of this run
    bool goes_on_resizing = false;        // ranks go on with the channels that the checkpoint says they prune
};

class RankModel {
public:
    // `job`, `current` and `trace` outlive it. It records what it does in training in `trace`, unless that is
    // null.
    RankModel(const Job& job, const PlanState& current, int rank, RankGroups groups, Trace* trace = nullptr);

    bool is_idle() const { return !stages_; }
    int rank() const { return rank_; }
    const RankGroups& groups() const { return groups_; }
    LocalStages& stages() { return *stages_; }
    const LocalStages& stages() const { return *stages_; }

    // Fills the parameters, with the same values for every layout, and the master weights of `optimizer` if it
    // has them. Communicates nothing.
    void fill(Stream& stream, std::uint64_t seed, const FirstValues& values, Optimizer* optimizer = nullptr);
    // The bytes of the stored model that fill() reads.
    std::size_t stored_bytes(const StoredModel& stored) const;

    // Of a rank that is idle all these do nothing.
    //
    // Nothing is in flight. `programs`, and the micro-batches of each step that is added, outlive the round;
    // those that this rank has nothing to do with are not looked at. Steps are added before they are executed,
    // the first ones and as many as the programs look ahead before begin_steps().
    void begin(Stream& stream, const ProvedPrograms& programs, const RoundOptions& options);
    void add_step(const std::deque<BatchView>& micro_batches, double loss_scale);
    // Point-to-point with neighbours, and collective over the team. Executes what comes before the first step,
    // and then one step after the other.
    void begin_steps();
    RoundResult execute_step(int step);
    // Returns when nothing is in flight any more.
    void finish();

    // All this for one step.
    RoundResult execute(Stream& stream, const ProvedPrograms& programs, const std::vector<Batch>& batches);

    // Through which batches reach `stream`; null: it reads them where they are.
    ByteSender* sender_to(Stream& stream);

    // Whether the gradients of a step of the round have been added up, in this rank's shards; and the losses of
    // its micro-batches that have ended here, counted by one rank of a team.
    bool has_summed(int step) const { return !is_idle() && stages_->has_summed(step); }
    double own_loss(int step) const;

    // Whether this rank executes some stage of a micro-batch.
    bool needs(const PipelineShape& shape, int micro_batch) const;

    // From here on this rank may leave out a part of its products, by the weights as they are, or have it
    // computed by others, or compute some of theirs.
    void prepare_to_share_products(Stream& stream, const ResizeConfig& config, std::uint64_t seed);
    bool may_share_products() const { return resizer_ != nullptr; }
    // Collective over the team; between two steps, with nothing in flight. As the plan has it now, of channels
    // that are chosen anew.
    void share_products(Stream& stream);
    LeftOuts left_out() const;

    // What it remembers of what it leaves out, once it may; none where that is nothing.
    std::optional<ResizingState> resizing_state() const;
    void restore(const ResizingState& state) { resizer_->restore(state); }
    // Collective over the team. As share_products(), of the channels that were chosen before.
    void go_on_sharing_products();

    double part_done() const;      // of the programs of the training step that is executed
    std::string position() const;  // "stands at 2RECV_B0, instruction 7 of 20"

    RankWaits waits() const;  // since the last call of reset_traffic()
    void reset_traffic();

private:
    void fill_rounded(Stream& stream, std::uint64_t seed, const FirstValues& values, Optimizer& optimizer);
    void make_room(Stream& stream);
    bool speaks_for_team() const;
    std::vector<Migration> migrations_of_team() const;
    void lend(const std::vector<Migration>& migrations);
    std::unique_ptr<Engine> make_engine(const ProvedPrograms& programs, Trace* trace) const;
    Engine& engine() const { return *(programs_->shape.is_training ? training_ : evaluation_); }

    const Job& job_;
    const PlanState& current_;
    int rank_;
    RankGroups groups_;
    std::unique_ptr<LocalStages> stages_;  // none: idle
    InFlight in_flight_;
    std::unique_ptr<ByteSender> sender_;             // none: batches are read where they are
    std::unique_ptr<Resizer> resizer_;               // none: every rank computes what it holds
    std::unique_ptr<HelpedProducts> helped_;         // likewise, and none where the team is one rank
    std::vector<Migration> migrations_;              // of the period, within the team
    std::unique_ptr<Engine> training_, evaluation_;  // of the programs of each

    // Of the round that is being executed.
    const ProvedPrograms* programs_ = nullptr;
    Program one_step_;  // of the team
    std::optional<Round> round_;
};

}  // namespace trireme
