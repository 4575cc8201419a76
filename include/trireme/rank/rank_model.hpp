// The stages of a rank, with the engine that executes their programs.
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

// Makes a stream. `seconds_of` gives the kernel times of a simulated device; empty if the device is real.
device::Stream make_stream(config::DeviceKind device, int threads,
                           const device::KernelSeconds& seconds_of = {});
int threads_of(const device::Stream& stream);  // number of CPU threads; 1 on other devices

// Settings of an execution of programs.
struct RoundOptions {
    RandomKey dropout_key = {};
    double label_smoothing = 0;
    stage::StepEvents* events = nullptr;  // for training; may be null
};

// The result of a step on this rank. Only one rank of each team has values.
struct RoundResult {
    std::map<int, model::LossState> outcomes;  // per micro-batch whose last stage this rank holds
    std::size_t padded_tokens = 0;             // tokens that entered the model on this rank, including padding
};

// The source of the first values of parameters and moments.
struct FirstValues {
    const checkpoint::StoredModel* stored = nullptr;  // null if parameters are random
    bool resumes = false;                             // `stored` is a checkpoint of this run
    bool goes_on_resizing = false;                    // ranks keep the pruned channels of the checkpoint
};

class RankModel {
public:
    // `job`, `current` and `trace` must outlive this object. Training is recorded in `trace`, unless it is
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
    // Number of bytes of the stored model that fill() reads.
    std::size_t stored_bytes(const checkpoint::StoredModel& stored) const;

    // On an idle rank these are no-ops.
    //
    // Begins a round while nothing is in flight. `programs` and the micro-batches of all added steps must
    // outlive the round. Micro-batches that this rank does not execute are not read. A step is added before it
    // is executed. The first step, and as many more as the programs look ahead, are added before begin_steps().
    void begin(device::Stream& stream, const plan::ProvedPrograms& programs, const RoundOptions& options);
    void add_step(const std::deque<BatchView>& microbatches, double loss_scale);
    // Point-to-point with neighbours, and collective over the team. Executes the prologue of the programs.
    void begin_steps();
    // Communicates as begin_steps() does. Executes the next step.
    RoundResult execute_step(int step);
    // Returns when nothing is in flight any more.
    void finish();

    // Executes a whole round of one step.
    RoundResult execute(device::Stream& stream, const plan::ProvedPrograms& programs,
                        const std::vector<data::Batch>& batches);

    // Returns the object that sends batches to the GPU of `stream`; null if it reads batches in host memory.
    device::ByteSender* sender_to(device::Stream& stream);

    // True if the gradients of a step have been reduced into this rank's shards.
    bool has_summed(int step) const { return !is_idle() && stages_->has_summed(step); }
    // Sum of the losses of a step's micro-batches that have ended on this rank; 0 except on one rank of a team.
    double own_loss(int step) const;

    // True if this rank executes a stage of the micro-batch.
    bool needs(const schedule::PipelineShape& shape, int microbatch) const;

    // Allows this rank to skip channels, to offload matmuls and to compute matmuls of other ranks from now on.
    void prepare_to_share_products(device::Stream& stream, const config::ResizeConfig& config,
                                   std::uint64_t seed);
    bool may_share_products() const { return resizer_ != nullptr; }
    // Collective over the team, between two steps with nothing in flight. Skips and offloads matmuls as the
    // current plan says, with newly chosen channels.
    void share_products(device::Stream& stream);
    optim::LeftOuts left_out() const;  // the currently skipped channels

    // Returns the state of the skipped channels; empty if this rank may not skip any.
    std::optional<model::ResizingState> resizing_state() const;
    void restore(const model::ResizingState& state) { resizer_->restore(state); }
    // Collective over the team. Same as share_products(), but keeps the restored channels.
    void go_on_sharing_products();

    double part_done() const;      // executed fraction of the current training step
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
    std::unique_ptr<stage::LocalStages> stages_;  // null on an idle rank
    setup::InFlight in_flight_;
    std::unique_ptr<device::ByteSender> sender_;     // null if batches are read in host memory
    std::unique_ptr<stage::Resizer> resizer_;        // null until prepare_to_share_products()
    std::unique_ptr<model::HelpedProducts> helped_;  // the same; also null if the team has one rank
    std::vector<layout::Migration> migrations_;      // current migrations, numbered within the team
    std::unique_ptr<pipeline::Engine> training_, evaluation_;

    // The round that is being executed.
    const plan::ProvedPrograms* programs_ = nullptr;
    schedule::Program one_step_;  // program of the team
    std::optional<stage::Round> round_;
};

}  // namespace trireme::rank
