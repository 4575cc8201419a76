// Writes checkpoints of a run asynchronously. A worker thread copies the state that the rank owns while the
// next step computes, and writes from the copy. Only the update of that step waits for the copy.
#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "trireme/checkpoint/resizing_file.hpp"
#include "trireme/checkpoint/state_view.hpp"
#include "trireme/checkpoint/write_checkpoint.hpp"
#include "trireme/comm/communicator.hpp"
#include "trireme/device/buffer.hpp"
#include "trireme/device/trace.hpp"
#include "trireme/device/worker.hpp"
#include "trireme/rank/rank_trainer.hpp"
#include "trireme/records/save_outcome.hpp"

namespace trireme::run {

// The facts that all checkpoints of a run have in common. Equal on all ranks.
struct SavingPlan {
    std::filesystem::path checkpoints;  // folder of the checkpoints
    std::string run;                    // random digits that identify the run
    std::size_t keep = 0;               // number of newest checkpoints to keep; 0: all
    bool goes_on = false;               // the run continues if a checkpoint other than the last one fails
    // Time limit for the worker thread to wait for the GPU, if there is one.
    double stall_seconds = device::Patience{}.stall_seconds;
    checkpoint::ModelDescription description;
    checkpoint::CheckpointState state;  // with the parts of all ranks
};
SavingPlan plan_saving(const setup::Job& job, const setup::PlanState& current, int ranks);

// Returns the part of each rank: the elements that it owns. Ranks that own none have no part.
std::vector<checkpoint::CheckpointPart> parts_of(const stage::GradientPlan& gradients, int ranks);

// The state that a rank saves.
struct RunState {
    std::string facts;                              // equal on all ranks
    std::vector<checkpoint::StateView> views = {};  // all tensors that the rank holds
    std::uint64_t updates = 0;                      // number of updates done
    std::optional<model::ResizingState> resizing = {};
};

class Saving {
public:
    // `group` has all ranks and serves nothing else. `look` is called now and then during long waits for the
    // disk.
    Saving(SavingPlan plan, std::unique_ptr<comm::Communicator> group, std::function<void()> look);
    Saving(const Saving&) = delete;
    Saving& operator=(const Saving&) = delete;
    ~Saving();

    // Starts a checkpoint. All ranks call it after the same step, while nothing is in flight. First waits for
    // an earlier checkpoint that is still being written. The viewed tensors may change only after
    // before_update(), or, if `is_awaited`, after finish(). If an awaited save fails, the run ends: see
    // refuse_lost(). Throws ResourceError or ConfigError if a failure ends the run now.
    void begin(std::uint64_t step, const RunState& state, bool is_awaited);
    // Collective over the group. Saves the state and waits until it is on disk, unless this run has already
    // saved that step. Returns the path of the checkpoint, which every rank may read. Throws as refuse_lost()
    // does.
    std::filesystem::path save_at_once(std::uint64_t step, const RunState& state);
    // Called before values and moments change. Waits until they are copied.
    void before_update();
    // Called after each step. Progresses the checkpoint that is being written. Never waits.
    void advance();
    // Waits until the checkpoint is complete, or has failed.
    void finish();
    // Collective over the group. Called after finish(). Throws if an awaited save failed: the ConfigError of
    // the lowest rank on all ranks, or a rank's own ResourceError once all ranks have arrived.
    void refuse_lost();
    // Sets the parts that ranks write from now on. No checkpoint may be in progress.
    void change_parts(std::vector<checkpoint::CheckpointPart> parts);

    void note_in(device::Trace* trace) { trace_ = trace; }  // records the work of the worker thread in `trace`

    std::vector<records::SaveOutcome> take_outcomes();       // outcomes since the last call
    double stall_seconds() const { return stall_seconds_; }  // time for which saving blocked the steps
    std::size_t saves() const { return saves_; }             // number of saves that this rank has begun
    // The saves that had to wait for the previous one. On rank 0 this wait ends when that checkpoint is
    // complete.
    const std::vector<records::SaveWait>& waits() const { return waits_; }

private:
    // A complaint with four characters per number, truncated if it is longer.
    using Letters = std::array<std::int32_t, 64>;

    std::optional<std::size_t> own_part() const;
    bool has_saved(std::uint64_t step);
    void lay_out_ahead();
    void lay_out();
    void start_part(const RunState& state, bool is_awaited);
    void write_resizing(const model::ResizingState& state);
    void sync_resizing();
    device::Worker::Job start(const char* name, std::function<void()> job);
    void listen();
    void report();
    bool have_all_reported();
    void take_failure_of_worker();
    void conclude();
    std::string first_complaint() const;
    void complete_or_complain();
    void fail(std::exception_ptr error);
    bool is_over(const std::optional<device::Worker::Job>& job) const;  // also true if there is no job
    void wait_for(const std::optional<device::Worker::Job>& job);

    SavingPlan plan_;
    std::unique_ptr<comm::Communicator> group_;
    std::function<void()> look_;
    device::Trace* trace_ = nullptr;
    std::optional<checkpoint::PartLayout> layout_;   // of this rank's part; empty if it has none
    std::optional<checkpoint::WholeTensors> whole_;  // on rank 0

    // The checkpoint that is being written.
    bool is_in_flight_ = false;  // on rank 0 until it is complete, elsewhere until this rank's report is sent
    double begun_ = 0;           // start time
    bool is_awaited_ = false;
    bool has_reported_ = false;
    std::string complaint_;       // of this rank
    std::exception_ptr failure_;  // of this rank, in an awaited save
    std::optional<checkpoint::StateViews> views_;
    std::optional<checkpoint::PartWriter> writer_;
    std::optional<archive::WritableFile> resizing_;  // written, but not synced yet
    std::optional<device::Worker::Job> copied_, written_;
    std::optional<device::Worker::Job> completed_;  // on rank 0, once all ranks have reported
    device::Buffer copy_;
    std::vector<Letters> reports_;                     // on rank 0 of all ranks, elsewhere of this rank
    std::vector<comm::Communicator::Ticket> tickets_;  // pending requests of reports
    std::vector<records::SaveOutcome> outcomes_;
    std::optional<std::uint64_t> saved_step_;  // on rank 0: step of the last complete checkpoint
    double stall_seconds_ = 0;
    std::size_t saves_ = 0;
    std::vector<records::SaveWait> waits_;
    device::Worker worker_;  // declared last, so that it ends before the members that its jobs use
};

}  // namespace trireme::run
