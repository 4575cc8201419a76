// Writes checkpoints of a run while it goes on. What a rank owns is copied by a thread of its own while the
// next step computes, and written from the copy; the step's update alone waits for the copy to be there.
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

// What is the same of all checkpoints of a run, on all ranks.
struct SavingPlan {
    std::filesystem::path checkpoints;  // the folder
    std::string run;                    // digits that no other run has
    std::size_t keep = 0;               // so many of the newest; 0: all
    bool goes_on = false;               // where one cannot be written, unless it is the last
    double stall_seconds =
        device::Patience{}.stall_seconds;  // how long its thread waits for the GPU, if there is one
    checkpoint::ModelDescription description;
    checkpoint::CheckpointState state;  // with the parts of all ranks
};
SavingPlan plan_saving(const setup::Job& job, const setup::PlanState& current, int ranks);

// What each rank writes: what it answers for.
std::vector<checkpoint::CheckpointPart> parts_of(const stage::GradientPlan& gradients, int ranks);

// What of a run a rank has to save.
struct RunState {
    std::string facts;                              // of all ranks alike
    std::vector<checkpoint::StateView> views = {};  // of all that the rank has
    std::uint64_t updates = 0;                      // behind it
    std::optional<model::ResizingState> resizing = {};
};

class Saving {
public:
    // `group` is of all ranks and of nobody else. `look` is called now and then in long waits for the disk.
    Saving(SavingPlan plan, std::unique_ptr<comm::Communicator> group, std::function<void()> look);
    Saving(const Saving&) = delete;
    Saving& operator=(const Saving&) = delete;
    ~Saving();

    // All ranks call it after the same step, when nothing is in flight; what is viewed changes only behind
    // before_update(). Where the save `is_awaited`, they do not change before finish(), and the run ends if it
    // fails: see refuse_lost(). Waits for an earlier checkpoint that is still being written. Throws
    // ResourceError or ConfigError where the run is to stop.
    void begin(std::uint64_t step, const RunState& state, bool is_awaited);
    // Likewise, and awaits it, unless this run has just saved that step. Behind it all of the state is on disk,
    // for every rank to read: the path.
    std::filesystem::path save_at_once(std::uint64_t step, const RunState& state);
    // The values and moments are about to change.
    void before_update();
    // After each step: lets what is being written go on, and never waits.
    void advance();
    // Until all is done.
    void finish();
    // Collective over the group, after finish(). Throws where an awaited save failed: the ConfigError of the
    // lowest rank on all ranks, or a rank's own ResourceError once all ranks are here.
    void refuse_lost();
    // Ranks answer for other parts from now on; nothing is being written.
    void change_parts(std::vector<checkpoint::CheckpointPart> parts);

    void note_in(device::Trace* trace) { trace_ = trace; }  // what its thread does

    std::vector<records::SaveOutcome> take_outcomes();       // since the last call
    double stall_seconds() const { return stall_seconds_; }  // of steps that waited here
    std::size_t saves() const { return saves_; }             // that this rank has begun
    // Of them, those that waited for the one before, from the first on; rank 0 waits until that is done.
    const std::vector<records::SaveWait>& waits() const { return waits_; }

private:
    // Four letters in a number: a complaint, cut off where it is longer.
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
    bool is_over(const std::optional<device::Worker::Job>& job) const;  // or was not given
    void wait_for(const std::optional<device::Worker::Job>& job);

    SavingPlan plan_;
    std::unique_ptr<comm::Communicator> group_;
    std::function<void()> look_;
    device::Trace* trace_ = nullptr;
    std::optional<checkpoint::PartLayout> layout_;   // of the own part; none where there is none
    std::optional<checkpoint::WholeTensors> whole_;  // on rank 0

    // Of the checkpoint that is being written.
    bool is_in_flight_ = false;  // on rank 0 until it is done, elsewhere until this rank's report is away
    double begun_ = 0;           // when
    bool is_awaited_ = false;
    bool has_reported_ = false;
    std::string complaint_;       // of this rank
    std::exception_ptr failure_;  // of this rank, in an awaited save
    std::optional<checkpoint::StateViews> views_;
    std::optional<checkpoint::PartWriter> writer_;
    std::optional<archive::WritableFile> resizing_;  // written, and not synced yet
    std::optional<device::Worker::Job> copied_, written_;
    std::optional<device::Worker::Job> completed_;  // on rank 0, once all have reported
    device::Buffer copy_;
    std::vector<Letters> reports_;                     // of all ranks, on rank 0; elsewhere the own
    std::vector<comm::Communicator::Ticket> tickets_;  // of reports that have not come
    std::vector<records::SaveOutcome> outcomes_;
    std::optional<std::uint64_t> saved_step_;  // on rank 0: of the last one that is done
    double stall_seconds_ = 0;
    std::size_t saves_ = 0;
    std::vector<records::SaveWait> waits_;
    device::Worker worker_;  // ends before what its jobs use
};

}  // namespace trireme::run
