#include "run/saving.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <utility>

#include "trireme/archive/partial_folder.hpp"
#include "trireme/base/sha256.hpp"
#include "trireme/comm/agreement.hpp"
#include "trireme/comm/collectives.hpp"
#include "trireme/device/clock.hpp"
#include "trireme/device/wait.hpp"

namespace trireme::run {
namespace {

constexpr int completing_rank = 0;  // the rank that completes checkpoints

archive::StoredType to_stored_type(device::DType dtype) {
    return dtype == device::DType::f64 ? archive::StoredType::f64 : archive::StoredType::f32;
}

// Returns the number of bytes in all boxes of a part.
std::size_t count_part_bytes(const checkpoint::CheckpointState& state, const checkpoint::CheckpointPart& part) {
    std::size_t bytes = 0;
    for (const checkpoint::StateBox& box : list_boxes(state, part)) bytes += byte_size(state, box);
    return bytes;
}

std::string read_report(const std::array<std::int32_t, 64>& text) {
    const char* const characters = reinterpret_cast<const char*>(text.data());
    return {characters, ::strnlen(characters, sizeof text)};
}

// Returns the checkpoint parts. The part (HDF5 file) of a rank has the elements that the rank owns; a rank that
// owns no elements has no part.
std::vector<checkpoint::CheckpointPart> list_parts(const stage::GradientPlan& gradients, int ranks) {
    std::vector<checkpoint::CheckpointPart> parts;
    for (int rank = 0; rank < ranks; ++rank) {
        layout::HeldState held_state = make_held_state(gradients.tensors, gradients.pieces, gradients.buckets,
                                                       /*shards_optimizer=*/true, rank);
        if (held_state.owned.empty()) continue;
        parts.push_back({.rank = static_cast<std::uint64_t>(rank), .boxes = std::move(held_state.owned)});
    }
    return parts;
}

}  // namespace

SavingConfig plan_saving(const setup::Job& job, const setup::PlanState& current, int ranks) {
    const archive::StoredType type = to_stored_type(job.dtype);
    std::vector<checkpoint::CheckpointTensor> tensors;
    std::map<std::string, const model::ParameterSpec*> specs;
    const std::vector<model::ParameterSpec> all_specs = list_unique_parameters(build_layers(job.model));
    for (const model::ParameterSpec& spec : all_specs) specs[spec.name] = &spec;
    for (const layout::HeldTensor& tensor : current.gradients.tensors)
        tensors.push_back(checkpoint::make_checkpoint_tensor(*specs.at(tensor.name), type, type));
    for (std::size_t t = 0; t < tensors.size(); ++t)
        tensors[t].has_moments = current.gradients.tensors[t].is_trained;
    checkpoint::ModelDescription description{
        .config = make_config_text(job.model, tensors, job.stored_model ? job.stored_model->config_text() : ""),
        .tokenizer = job.tokenizer ? job.tokenizer->to_bytes() : "",
        .generation_config = job.stored_model ? job.stored_model->generation_config() : ""};
    SavingConfig plan{
        .checkpoints = {},
        .run_id = {},
        .max_checkpoints = job.config.run.keep,
        .continues_after_failure = job.config.run.on_save_error == config::OnSaveError::continue_run,
        .description = std::move(description),
        .state = {}};
    plan.stall_seconds = job.config.run.stall_timeout;
    plan.state = make_checkpoint_state(plan.description, std::move(tensors));
    plan.state.moments = count_moments(job.config.optimizer);
    plan.state.parts = list_parts(current.gradients, ranks);
    return plan;
}

Saving::Saving(SavingConfig plan, std::unique_ptr<comm::Communicator> group,
               std::function<void()> between_polls)
    : plan_(std::move(plan)), group_(std::move(group)), between_polls_(std::move(between_polls)) {
    group_->disable_stall_limit();  // disks may be slow
    try_to_lay_out_files();
}

// If an exception ends the run, rank 0 removes the incomplete checkpoint, which is useless and takes space.
Saving::~Saving() {
    if (!is_in_flight_ || group_->rank() != completing_rank) return;
    device::wait_until([this] { return is_job_done(write_job_) && is_job_done(completion_job_); },
                       {.stall_seconds = std::numeric_limits<double>::infinity()},
                       [] { return std::string(); });
    archive::remove_partial_entries(plan_.checkpoints);
}

std::optional<std::size_t> Saving::find_own_part() const {
    const auto own_rank = static_cast<std::uint64_t>(group_->rank());
    const auto part = std::ranges::find(plan_.state.parts, own_rank, &checkpoint::CheckpointPart::rank);
    if (part == plan_.state.parts.end()) return std::nullopt;
    return static_cast<std::size_t>(part - plan_.state.parts.begin());
}

// Computes the layouts of files before the first step and after each change of the parts, so that begin() need
// not compute them.
void Saving::try_to_lay_out_files() {
    try {
        lay_out_files();
    } catch (const Error&) {
        if (!plan_.continues_after_failure) throw;  // if the run continues, begin() tries again
    }
}

void Saving::lay_out_files() {
    const auto part = find_own_part();
    if (part && !layout_) layout_.emplace(plan_.state, *part);
    if (group_->rank() == completing_rank && !model_file_) model_file_.emplace(plan_.state);
}

void Saving::begin(std::uint64_t step, const RunState& state, bool is_awaited) {
    const double call_time = device::now_seconds();
    if (is_in_flight_) {
        finish();
        waits_.push_back({step, device::now_seconds() - call_time});
    }
    plan_.state.step = step;
    plan_.state.run = state.facts;
    // The save id is equal on all ranks and differs between all steps of all runs, so that files of different
    // checkpoints are never combined.
    plan_.state.save_id = sha256_hex(cat(plan_.run_id, ' ', step)).substr(0, plan_.run_id.size());
    begin_time_ = device::now_seconds();
    is_in_flight_ = true;
    is_awaited_ = is_awaited;
    has_reported_ = false;
    copy_job_ = write_job_ = completion_job_ = std::nullopt;
    complaint_.clear();
    failure_ = nullptr;
    ++save_count_;
    try {
        lay_out_files();
        if (state.resizing) write_resizing(*state.resizing);
        start_writing_part(state, is_awaited);
    } catch (const Error&) {
        handle_failure(std::current_exception());
    }
    post_report_receives();
    stall_seconds_ += device::now_seconds() - call_time;
}

std::filesystem::path Saving::save_at_once(std::uint64_t step, const RunState& state) {
    finish();
    if (!has_saved(step)) {
        begin(step, state, true);
        finish();
        check_saved();  // returns after rank 0 has completed the checkpoint
    }
    return checkpoint::make_checkpoint_path(plan_.checkpoints, step);
}

// Collective over the group. All ranks get the answer of rank 0, because only rank 0 knows saved_step_.
bool Saving::has_saved(std::uint64_t step) {
    const bool is_saved_step = group_->rank() == completing_rank && saved_step_ == step;
    return all_gather(*group_, std::array{is_saved_step ? 1.0 : 0.0}).front() > 0;
}

// Writes in the calling thread, because only this thread may call HDF5; the worker thread writes parts without
// HDF5. No copy of the state is needed, because the gradients and weights to which `state` refers stay
// unchanged until the next step. The next step waits for the checksum and the write() calls, but not for the
// sync to disk, which the worker thread does.
void Saving::write_resizing(const model::ResizingState& state) {
    const std::filesystem::path partial = make_save_folder(plan_.checkpoints, plan_.state);
    resizing_file_.emplace(
        trireme::checkpoint::write_resizing(partial, plan_.state.save_id, group_->rank(), state));
}

void Saving::sync_resizing() {
    if (resizing_file_) resizing_file_->sync();
}

// An awaited checkpoint needs no copy, because the state does not change while the checkpoint is written.
void Saving::start_writing_part(const RunState& state, bool is_awaited) {
    const std::filesystem::path partial = make_save_folder(plan_.checkpoints, plan_.state);
    const auto part = find_own_part();
    if (!part) {
        if (resizing_file_) write_job_ = start_job("write", [this] { sync_resizing(); });
        return;
    }
    views_.emplace(state.views);
    writer_.emplace(partial, plan_.state, *layout_, state.updates);
    const std::vector<checkpoint::StateBox> boxes = list_boxes(plan_.state, plan_.state.parts[*part]);
    const auto copy_box = [this](const checkpoint::StateBox& box, std::span<std::byte> to) {
        views_->copy(plan_.state.tensors[box.tensor].name, box.field, box.box, to,
                     {.stall_seconds = plan_.stall_seconds});
    };
    if (is_awaited) {
        write_job_ = copy_job_ = start_job("write", [this, boxes, copy_box] {
            std::vector<std::byte> bytes;
            writer_->write([&](std::size_t box_index, layout::Range rows) {
                checkpoint::StateBox box = boxes[box_index];  // reduced to `rows`
                box.box.rows = {box.box.rows.begin + rows.begin, rows.count};
                bytes.resize(byte_size(plan_.state, box));
                copy_box(box, bytes);
                return std::span<const std::byte>(bytes);
            });
            sync_resizing();
        });
        return;
    }
    if (copy_buffer_.bytes() == 0)
        copy_buffer_ =
            device::Buffer(count_part_bytes(plan_.state, plan_.state.parts[*part]), device::MemorySpace::host);
    copy_job_ = start_job("copy", [this, boxes, copy_box] {
        std::byte* to = copy_buffer_.data();
        for (const checkpoint::StateBox& box : boxes) {
            copy_box(box, {to, byte_size(plan_.state, box)});
            to += byte_size(plan_.state, box);
        }
    });
    write_job_ = start_job("write", [this, boxes] {
        const std::byte* from = copy_buffer_.data();
        std::size_t from_index = 0;  // index of the box to which `from` points
        writer_->write([&](std::size_t box_index, layout::Range rows) {
            for (; from_index < box_index; ++from_index) from += byte_size(plan_.state, boxes[from_index]);
            const checkpoint::StateBox& box = boxes[box_index];
            const std::size_t row_bytes = byte_size(plan_.state, box) / box.box.rows.count;
            return std::span(from + rows.begin * row_bytes, rows.count * row_bytes);
        });
        sync_resizing();
    });
}

device::Worker::JobId Saving::start_job(const char* name, std::function<void()> job) {
    return worker_.start(make_traced_job(trace_, device::TraceLane::checkpoint, name, std::move(job)));
}

void Saving::wait_for_copy() {
    if (is_job_done(copy_job_)) return;
    const device::TraceSpan span(trace_, device::TraceLane::messages, "wait for the copy");
    const double call_time = device::now_seconds();
    wait_for(copy_job_);
    stall_seconds_ += device::now_seconds() - call_time;
}

bool Saving::is_job_done(const std::optional<device::Worker::JobId>& job) const {
    return !job || worker_.is_done(*job);
}

void Saving::wait_for(const std::optional<device::Worker::JobId>& job) {
    const device::WaitObserver observer{.on_poll = [this](double) { between_polls_(); },
                                        .on_stall = [](const std::string&) {}};
    device::wait_until([&] { return is_job_done(job); },
                       {.stall_seconds = std::numeric_limits<double>::infinity(), .observer = &observer},
                       [] { return std::string("the disk"); });
}

void Saving::advance() {
    if (!is_in_flight_) return;
    if (!has_reported_ && is_job_done(write_job_)) send_report();
    if (has_reported_ && !completion_job_ && are_reports_delivered()) start_completion();
    if (completion_job_ && is_job_done(completion_job_)) end_checkpoint();
}

void Saving::finish() {
    if (!is_in_flight_) return;
    wait_for(write_job_);
    if (!has_reported_) send_report();
    group_->wait(report_requests_);
    report_requests_.clear();
    if (!completion_job_) start_completion();
    if (!completion_job_) return;  // start_completion() has already ended the checkpoint
    wait_for(completion_job_);
    end_checkpoint();
}

void Saving::change_state(checkpoint::CheckpointState state) {
    plan_.state = std::move(state);
    copy_buffer_ = {};
    layout_.reset();
    model_file_.reset();
    try_to_lay_out_files();
}

// Rank 0 posts the receives for the reports of all other ranks. Every rank clears its own report.
void Saving::post_report_receives() {
    const bool collects = group_->rank() == completing_rank;
    reports_.assign(collects ? static_cast<std::size_t>(group_->size()) : 1, ReportText{});
    for (int peer = 0; collects && peer < group_->size(); ++peer) {
        if (peer == completing_rank) continue;
        ReportText& report = reports_[static_cast<std::size_t>(peer)];
        report_requests_.push_back(
            group_->start_receive({report.data(), device::DType::i32, 1, report.size(), report.size()}, peer));
    }
}

void Saving::send_report() {
    has_reported_ = true;
    handle_worker_failure();
    ReportText& report = reports_.front();
    std::memcpy(report.data(), complaint_.data(), std::min(complaint_.size(), sizeof report - 1));
    if (group_->rank() == completing_rank) return;
    report_requests_.push_back(group_->start_send(
        {report.data(), device::DType::i32, 1, report.size(), report.size()}, completing_rank));
}

// Rethrows `exception` if the checkpoint is not awaited and its failure must end the run. Then this rank, which
// knows the reason, ends the run. Otherwise stores the reason, which this rank then reports to rank 0. The
// failure of an awaited checkpoint ends the run in check_saved(), after rank 0 has recorded the reason.
void Saving::handle_failure(std::exception_ptr exception) {
    try {
        std::rethrow_exception(exception);
    } catch (const Error& error) {
        if (!plan_.continues_after_failure && !is_awaited_) throw;
        if (is_awaited_ && !failure_) failure_ = exception;
        complaint_ = error.what();
    }
}

void Saving::check_saved() {
    barrier(*group_);
    run_or_fail_together(*group_, [this] {
        if (failure_) std::rethrow_exception(failure_);
    });
}

// True if this rank's report is sent or, on rank 0, all reports are received.
bool Saving::are_reports_delivered() {
    std::erase_if(report_requests_, [&](comm::Communicator::RequestId id) { return group_->is_done(id); });
    return report_requests_.empty();
}

std::string Saving::find_first_complaint() const {
    for (std::size_t rank = 0; rank < reports_.size(); ++rank) {
        const std::string text = read_report(reports_[rank]);
        if (!text.empty()) return reports_.size() > 1 ? cat("rank ", rank, ": ", text) : text;
    }
    return {};
}

// Called when this rank has sent its report or, on rank 0, has received all reports. Rank 0 lets the worker
// thread complete the checkpoint, or ends the checkpoint if a rank has failed. The other ranks have nothing
// more to do and end the checkpoint.
void Saving::start_completion() {
    if (group_->rank() != completing_rank) return end_checkpoint();
    complaint_ = find_first_complaint();
    if (!complaint_.empty()) return end_checkpoint();
    completion_job_ = start_job("complete", [this] {
        complete_checkpoint(plan_.checkpoints, plan_.state, *model_file_, plan_.description);
        checkpoint::remove_old_checkpoints(plan_.checkpoints, plan_.max_checkpoints);
    });
}

void Saving::end_checkpoint() {
    is_in_flight_ = false;
    completion_job_.reset();
    writer_.reset();
    resizing_file_.reset();
    views_.reset();
    if (group_->rank() != completing_rank) return;
    handle_worker_failure();
    if (complaint_.empty()) {
        saved_step_ = plan_.state.step;
    } else {
        archive::remove_partial_entries(plan_.checkpoints);
    }
    outcomes_.push_back(
        {.step = plan_.state.step, .complaint = complaint_, .seconds = device::now_seconds() - begin_time_});
}

void Saving::handle_worker_failure() {
    try {
        worker_.rethrow_exception();
    } catch (const Error&) {
        worker_.clear_exception();
        handle_failure(std::current_exception());
    }
}

std::vector<records::SaveOutcome> Saving::take_outcomes() { return std::exchange(outcomes_, {}); }

}  // namespace trireme::run
