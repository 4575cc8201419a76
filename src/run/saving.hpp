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

// The properties that all checkpoints of a run have in common. Equal on all ranks.
struct SavingConfig {
    std::filesystem::path checkpoints;     // folder of the checkpoints
    std::string run_id;                    // random hexadecimal digits that identify this start of the run
    std::size_t max_checkpoints = 0;       // number of checkpoints to keep; 0 keeps all
    bool continues_after_failure = false;  // the run continues if a checkpoint that is not awaited fails
    // Limit of each wait of the worker thread for the GPU, in seconds.
    double stall_seconds = device::WaitPolicy{}.stall_seconds;
    checkpoint::ModelDescription description;
    checkpoint::CheckpointState state;  // with the parts of all ranks; begin() sets step, facts and save id
};
// Returns the configuration without the members that rank 0 chooses: `checkpoints` and `run_id`.
SavingConfig plan_saving(const setup::Job& job, const setup::PlanState& current, int ranks);

// The state that a rank saves.
struct RunState {
    std::string facts;                              // about the run, see make_run_facts(); equal on all ranks
    std::vector<checkpoint::StateView> views = {};  // all parameters and moments that the rank holds
    checkpoint::UpdateCounts updates = {};          // of the trained parameters that the rank holds
    std::optional<model::ResizingState> resizing = {};  // empty if the rank is not allowed to prune channels
};

class Saving {
public:
    // `group` has all ranks and is used only by this object. `between_polls` is called repeatedly during waits
    // for the disk.
    Saving(SavingConfig plan, std::unique_ptr<comm::Communicator> group, std::function<void()> between_polls);
    Saving(const Saving&) = delete;
    Saving& operator=(const Saving&) = delete;
    ~Saving();

    // Starts a checkpoint of the state after `step` steps. All ranks call it after the same step, while no
    // micro-batch is in flight. If the previous checkpoint is incomplete, first waits as finish() does. The
    // tensors in `state` may change only after wait_for_copy(). If `is_awaited`, the tensors are not copied,
    // and may change only after finish(). If an awaited checkpoint fails, check_saved() throws. If a checkpoint
    // that is not awaited fails, begin(), advance() or finish() throws ResourceError or ConfigError, unless the
    // run continues after failures.
    void begin(std::uint64_t step, const RunState& state, bool is_awaited);
    // Collective over the group. Saves the state after `step` steps and waits until it is on disk, unless the
    // last complete checkpoint has that state. Returns the path of the checkpoint, which every rank may read.
    // Throws as check_saved() does.
    std::filesystem::path save_at_once(std::uint64_t step, const RunState& state);
    // Called before parameters and moments change. Waits until the worker thread has copied them.
    void wait_for_copy();
    // Called after each step. Progresses the checkpoint that is being written, if any. Never waits.
    void advance();
    // Waits on rank 0 until the checkpoint is complete or has failed. Waits on other ranks until their part is
    // written or has failed, and the result is sent to rank 0.
    void finish();
    // Collective over the group. Called after finish(). Throws if the last checkpoint was awaited and failed.
    // If ranks failed with a ConfigError, all ranks throw the ConfigError of the lowest such rank. A rank that
    // failed with a ResourceError throws this error.
    void check_saved();
    // Sets the tensors and the parts that ranks write from now on. No checkpoint may be in progress.
    void change_state(checkpoint::CheckpointState state);

    // Sets the trace that records the work of the worker thread.
    void set_trace(device::Trace* trace) { trace_ = trace; }

    std::vector<records::SaveOutcome> take_outcomes();  // since the last call; empty on all ranks but rank 0
    // Returns the seconds for which checkpoints have blocked the steps of this rank.
    double stall_seconds() const { return stall_seconds_; }
    std::size_t saves() const { return save_count_; }  // number of checkpoints that this rank has begun
    // Returns the waits of begin() for a previous checkpoint, in the order of the calls.
    const std::vector<records::SaveWait>& waits() const { return waits_; }

private:
    // The complaint of a rank, four characters per integer, truncated to fit; empty if the rank succeeded.
    using ReportText = std::array<std::int32_t, 64>;

    std::optional<std::size_t> find_own_part() const;
    bool has_saved(std::uint64_t step);
    void try_to_lay_out_files();
    void lay_out_files();
    void start_writing_part(const RunState& state, bool is_awaited);
    void write_resizing(const model::ResizingState& state);
    void sync_resizing();
    device::Worker::JobId start_job(const char* name, std::function<void()> job);
    void post_report_receives();
    void send_report();
    bool are_reports_delivered();
    void handle_worker_failure();
    void end_checkpoint();
    std::string find_first_complaint() const;
    void start_completion();
    void handle_failure(std::exception_ptr exception);
    bool is_job_done(const std::optional<device::Worker::JobId>& job) const;  // also true if there is no job
    void wait_for(const std::optional<device::Worker::JobId>& job);

    SavingConfig plan_;
    std::unique_ptr<comm::Communicator> group_;
    std::function<void()> between_polls_;
    device::Trace* trace_ = nullptr;
    std::optional<checkpoint::PartLayout> layout_;            // of this rank's part; empty if there is no part
    std::optional<checkpoint::VirtualModelFile> model_file_;  // on rank 0: joins the parts of all ranks

    // The checkpoint that is being written.
    bool is_in_flight_ = false;  // on rank 0 until it is complete, elsewhere until this rank's report is sent
    double begin_time_ = 0;      // time of begin(), after the wait for the previous checkpoint
    bool is_awaited_ = false;
    bool has_reported_ = false;
    std::string complaint_;       // why this rank failed; on rank 0, after all reports, why any rank failed
    std::exception_ptr failure_;  // exception of this rank in an awaited checkpoint; null if it did not fail
    std::optional<checkpoint::StateViews> views_;
    std::optional<checkpoint::PartWriter> writer_;
    std::optional<archive::WritableFile> resizing_file_;  // written in begin(); a job syncs it
    // Jobs that copy and write this rank's part; a single job if the checkpoint is awaited.
    std::optional<device::Worker::JobId> copy_job_, write_job_;
    std::optional<device::Worker::JobId> completion_job_;  // on rank 0, once all ranks have reported
    device::Buffer copy_buffer_;  // copy of this rank's part; allocated at the first checkpoint that needs it
    std::vector<ReportText> reports_;  // on rank 0: per rank; elsewhere: only this rank's report
    std::vector<comm::Communicator::RequestId> report_requests_;  // pending sends or receives of reports
    std::vector<records::SaveOutcome> outcomes_;
    std::optional<std::uint64_t> saved_step_;  // on rank 0: step of the last complete checkpoint
    double stall_seconds_ = 0;
    std::size_t save_count_ = 0;
    std::vector<records::SaveWait> waits_;
    device::Worker worker_;  // declared last, so that it ends before the members that its jobs use
};

}  // namespace trireme::run
