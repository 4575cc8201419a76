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
    std::filesystem::path checkpoints;     // folder of the checkpoints
    std::string run_id;                    // random hexadecimal digits that identify the run
    std::size_t max_checkpoints = 0;       // older checkpoints are removed; 0 means no limit
    bool continues_after_failure = false;  // the run continues if a checkpoint other than the last one fails
    // Time limit in seconds for a wait of the worker thread for the GPU.
    double stall_seconds = device::WaitPolicy{}.stall_seconds;
    checkpoint::ModelDescription description;
    checkpoint::CheckpointState state;  // with the parts of all ranks
};
// Returns the plan without the members that rank 0 chooses: `checkpoints` and `run_id`.
SavingPlan plan_saving(const setup::Job& job, const setup::PlanState& current, int ranks);

// Returns the checkpoint parts. The part (HDF5 file) of a rank has the elements that the rank owns; a rank that
// owns no elements has no part.
std::vector<checkpoint::CheckpointPart> list_parts(const stage::GradientPlan& gradients, int ranks);

// The state that a rank saves.
struct RunState {
    std::string facts;                              // about the run, see make_run_facts(); equal on all ranks
    std::vector<checkpoint::StateView> views = {};  // all tensors that the rank holds
    std::uint64_t updates = 0;                      // number of updates done
    std::optional<model::ResizingState> resizing = {};
};

class Saving {
public:
    // `group` has all ranks and serves nothing else. `between_polls` is called repeatedly during waits for the
    // disk.
    Saving(SavingPlan plan, std::unique_ptr<comm::Communicator> group, std::function<void()> between_polls);
    Saving(const Saving&) = delete;
    Saving& operator=(const Saving&) = delete;
    ~Saving();

    // Starts a checkpoint of the state after `step` steps. All ranks call it after the same step, while no
    // micro-batch is in flight. If the previous checkpoint is still being written, first waits for that one.
    // The tensors in `state` may change only after wait_for_copy() or, if `is_awaited`, after finish(). If an
    // awaited checkpoint fails, check_saved() throws. If a checkpoint that is not awaited fails and the run
    // must not continue after that, begin(), advance() or finish() throws ResourceError or ConfigError.
    void begin(std::uint64_t step, const RunState& state, bool is_awaited);
    // Collective over the group. Saves the state after `step` steps and waits until it is on disk, unless this
    // run has already saved that state. Returns the path of the checkpoint, which every rank may read. Throws
    // as check_saved() does.
    std::filesystem::path save_at_once(std::uint64_t step, const RunState& state);
    // Called before parameters and moments change. Waits until the worker thread has copied them.
    void wait_for_copy();
    // Called after each step. Progresses the checkpoint that is being written. Never waits.
    void advance();
    // Waits until the checkpoint is complete, or has failed.
    void finish();
    // Collective over the group. Called after finish(). Throws if an awaited checkpoint failed: all ranks throw
    // the ConfigError of the lowest failed rank, or each failed rank throws its own ResourceError.
    void check_saved();
    // Sets the parts that ranks write from now on. No checkpoint may be in progress.
    void change_parts(std::vector<checkpoint::CheckpointPart> parts);

    // Sets the trace that records the work of the worker thread.
    void set_trace(device::Trace* trace) { trace_ = trace; }

    std::vector<records::SaveOutcome> take_outcomes();  // outcomes since the last call
    // Returns the time for which checkpoints have blocked the steps.
    double stall_seconds() const { return stall_seconds_; }
    std::size_t saves() const { return save_count_; }  // number of checkpoints that this rank has begun
    // The checkpoints whose begin() had to wait for the previous checkpoint. On rank 0 the wait ends when the
    // previous checkpoint is complete, on other ranks when they have written their part of it.
    const std::vector<records::SaveWait>& waits() const { return waits_; }

private:
    // A rank's complaint with four characters per integer, truncated if it is longer; empty after a success.
    using ReportText = std::array<std::int32_t, 64>;

    std::optional<std::size_t> find_own_part() const;
    bool has_saved(std::uint64_t step);
    void try_to_lay_out();
    void lay_out();
    void start_part(const RunState& state, bool is_awaited);
    void write_resizing(const model::ResizingState& state);
    void sync_resizing();
    device::Worker::JobId start(const char* name, std::function<void()> job);
    void post_report_receives();
    void send_report();
    bool have_all_reported();
    void handle_worker_failure();
    void end_checkpoint();
    std::string find_first_complaint() const;
    void start_completion();
    void handle_failure(std::exception_ptr error);
    bool is_job_done(const std::optional<device::Worker::JobId>& job) const;  // also true if there is no job
    void wait_for(const std::optional<device::Worker::JobId>& job);

    SavingPlan plan_;
    std::unique_ptr<comm::Communicator> group_;
    std::function<void()> between_polls_;
    device::Trace* trace_ = nullptr;
    std::optional<checkpoint::PartLayout> layout_;            // of this rank's part; empty if it has none
    std::optional<checkpoint::VirtualModelFile> model_file_;  // on rank 0: joins the parts of all ranks

    // The checkpoint that is being written.
    bool is_in_flight_ = false;  // on rank 0 until it is complete, elsewhere until this rank's report is sent
    double start_time_ = 0;
    bool is_awaited_ = false;
    bool has_reported_ = false;
    std::string complaint_;       // why this rank failed; empty if it did not
    std::exception_ptr failure_;  // exception of this rank in an awaited checkpoint; null if it did not fail
    std::optional<checkpoint::StateViews> views_;
    std::optional<checkpoint::PartWriter> writer_;
    std::optional<archive::WritableFile> resizing_file_;  // written, but not synced yet
    // Jobs for this rank's part. Both are the same job if the checkpoint is awaited.
    std::optional<device::Worker::JobId> copy_job_, write_job_;
    std::optional<device::Worker::JobId> completion_job_;  // on rank 0, once all ranks have reported
    device::Buffer copy_buffer_;  // copy of this rank's part; allocated at the first checkpoint that needs it
    std::vector<ReportText> reports_;  // on rank 0 of all ranks, elsewhere of this rank
    std::vector<comm::Communicator::RequestId> report_requests_;  // pending requests of reports
    std::vector<records::SaveOutcome> outcomes_;
    std::optional<std::uint64_t> saved_step_;  // on rank 0: step of the last complete checkpoint
    double stall_seconds_ = 0;
    std::size_t save_count_ = 0;
    std::vector<records::SaveWait> waits_;
    device::Worker worker_;  // declared last, so that it ends before the members that its jobs use
};

}  // namespace trireme::run
