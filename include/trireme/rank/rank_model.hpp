// The stages of a rank, with the engines that execute their programs.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "trireme/data/batch.hpp"
#include "trireme/model/offloaded_matmuls.hpp"
#include "trireme/optim/optimizer.hpp"
#include "trireme/pipeline/engine.hpp"
#include "trireme/plan/observation.hpp"
#include "trireme/rank/batch_view.hpp"
#include "trireme/rank/rank_groups.hpp"
#include "trireme/setup/memory_prediction.hpp"
#include "trireme/stage/resizer.hpp"

namespace trireme::rank {

// Makes a stream. `predict_seconds` predicts the kernel times of a simulated device; empty for a real device.
device::Stream make_stream(config::DeviceKind device, int threads,
                           const device::KernelTimePredictor& predict_seconds = {});
int count_stream_threads(const device::Stream& stream);  // number of CPU threads; 1 on other devices

// Options of an execution, see RankModel.
struct ExecutionOptions {
    RandomKey dropout_key = {};
    double label_smoothing = 0;
    stage::StepEvents* events = nullptr;  // callbacks of training; null in an evaluation
    bool measures_passes = false;         // see pipeline::Engine::measure_passes()
};

// The result of a step on this rank. Only the first rank of each team has outcomes and tokens.
struct StepResult {
    plan::MeasuredPasses pass_times = {};
    // The outcomes of micro-batches whose last stage this rank executed, by index in the step.
    std::map<int, model::LossState> outcomes = {};
    std::size_t padded_tokens = 0;  // rows of micro-batches whose first stage this rank executed, with padding
};

// The source of the values that parameters and optimizer state have before the first step.
struct InitialValues {
    const checkpoint::StoredModel* stored = nullptr;  // null if parameters are initialized at random
    bool resumes = false;                             // true if `stored` is a checkpoint of this run
    bool resumes_resizing = false;  // true if ranks keep the pruned channels of the checkpoint
};

// An execution runs programs from the first micro-batch until no micro-batch is in flight: for a segment of
// training steps, or for one step of an evaluation. Steps are numbered from 0 in each execution.
class RankModel {
public:
    // `job`, `current` and `trace` must outlive this object. `trace` and `values` are those of TrainingRank.
    RankModel(const setup::Job& job, const setup::PlanState& current, int rank, RankGroups groups,
              device::Trace* trace = nullptr, std::optional<model::ParameterTensors> values = {});

    bool is_idle() const { return !stages_; }
    bool is_team_leader() const { return !groups_.tensor || groups_.tensor->rank() == 0; }
    int rank() const { return rank_; }
    const RankGroups& groups() const { return groups_; }
    stage::LocalStages& stages() { return *stages_; }  // not on an idle rank
    const stage::LocalStages& stages() const { return *stages_; }

    // Initializes the parameters with values that do not depend on the layout. Also initializes the master
    // weights of `optimizer`, if `optimizer` has master weights. Communicates nothing.
    void fill(device::Stream& stream, std::uint64_t seed, const InitialValues& values,
              optim::Optimizer* optimizer = nullptr);
    // Returns the number of bytes that fill() reads from the stored model.
    std::size_t count_stored_bytes(const checkpoint::StoredModel& stored) const;

    // Begins an execution of `programs`, which must outlive the execution. On an idle rank, this function and
    // all further functions up to execute() are no-ops.
    void begin(device::Stream& stream, const plan::ProvedPrograms& programs, const ExecutionOptions& options);
    // Adds the next step. `microbatches`, one entry per micro-batch, must stay valid until execute_step() of
    // this step returns. Entries that this rank does not execute are not read. Steps 0 to look_ahead of the
    // programs are added before begin_steps(), and step t + look_ahead, if any, before execute_step(t).
    // `work` has all but the batches.
    void add_step(const std::deque<BatchView>& microbatches, stage::StepWork work);
    // Executes the prologue of the programs. Collective over the team; exchanges messages with other stages.
    void begin_steps();
    StepResult execute_step(int step);  // called for each step in order; communicates as begin_steps() does
    void finish();  // waits until no message is in flight, and all offloaded state has returned
    // Runs an execution of one step from begin() to finish(). `batches` has one batch per micro-batch.
    StepResult execute(device::Stream& stream, const plan::ProvedPrograms& programs,
                       const std::vector<data::Batch>& batches);

    // Returns the object that copies batches to the GPU of `stream`. The first call makes this object. Returns
    // null if kernels of `stream` read batches in host memory.
    device::GpuUploader* get_uploader(device::Stream& stream);

    bool trains_any_stage() const { return !is_idle() && stages_->trains_any_stage(); }
    // True if the reduction of a step's gradients into this rank's shards is complete.
    bool has_reduced_gradients(int step) const { return !is_idle() && stages_->has_reduced_gradients(step); }
    // Returns the sum of the losses of the step's micro-batches whose last stage this rank has executed. Only
    // the first rank of a team returns this sum; the other ranks return 0, so that each loss is counted once.
    double sum_own_losses(int step) const;

    // True if this rank executes any stage of the micro-batch.
    bool executes_microbatch(const schedule::PipelineShape& shape, int microbatch) const;

    // Allows this rank to skip channels, to offload matmuls and to compute matmuls of other ranks from now on.
    void prepare_rebalancing(device::Stream& stream, const config::ResizeConfig& config, std::uint64_t seed);
    bool may_rebalance() const { return resizer_ != nullptr; }
    // Collective over the team; called while no micro-batch is in flight. Skips channels and offloads matmuls
    // as the current plan says, and chooses the skipped channels anew. No-op before prepare_rebalancing().
    void rebalance_matmuls(device::Stream& stream);
    optim::SkippedChannelMap skipped_channels() const;  // the currently skipped channels

    // Returns the state from which channels are chosen, for checkpoints; empty if no channel may be skipped.
    std::optional<model::ResizingState> resizing_state() const;
    void restore_resizing(const model::ResizingState& state) { resizer_->restore(state); }
    // Collective over the team. Called after restore_resizing(), instead of rebalance_matmuls(): skips the
    // restored channels, and offloads matmuls as the current plan says.
    void resume_rebalancing();

    double compute_executed_fraction() const;  // executed fraction of the current training step's instructions
    std::string describe_position() const;     // for example "stands at 2RECV_B0, instruction 7 of 20"
    void set_meter(const device::ClockedDevice* meter);  // of all groups: see comm::Communicator::set_meter()
    plan::RankWaits measure_waits() const;   // waits since the last call of reset_traffic(), in seconds
    double measure_joules_of_waits() const;  // energy during these waits
    void reset_traffic();

private:
    void reserve_memory(device::Stream& stream);
    std::vector<layout::Migration> list_own_team_migrations() const;
    void offload(const std::vector<layout::Migration>& migrations);
    std::unique_ptr<pipeline::Engine> make_engine(const plan::ProvedPrograms& programs,
                                                  device::Trace* trace) const;
    pipeline::Engine& engine() const { return *(programs_->shape.is_training ? training_ : evaluation_); }

    const setup::Job& job_;
    const setup::PlanState& current_;
    int rank_;
    RankGroups groups_;
    std::unique_ptr<stage::LocalStages> stages_;          // null on an idle rank
    setup::HeldBatches held_batches_;                     // input batches that this rank holds at a time
    std::unique_ptr<device::GpuUploader> uploader_;       // null if batches are read in host memory
    std::unique_ptr<stage::Resizer> resizer_;             // null until prepare_rebalancing()
    std::unique_ptr<model::OffloadedMatmuls> offloaded_;  // null without resizer_, or if the team has one rank
    std::vector<layout::Migration> migrations_;  // the team's current migrations; ranks are indices in the team
    std::unique_ptr<pipeline::Engine> training_, evaluation_;  // null on an idle rank

    // The current execution.
    const plan::ProvedPrograms* programs_ = nullptr;
    schedule::Program team_program_;  // all instructions of the team for an execution of one step
    std::optional<stage::Execution> execution_;
};

}  // namespace trireme::rank
