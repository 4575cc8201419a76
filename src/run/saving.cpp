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

constexpr int completer = 0;  // the rank that completes checkpoints

archive::StoredType stored_type(device::DType dtype) {
    return dtype == device::DType::f64 ? archive::StoredType::f64 : archive::StoredType::f32;
}

// Returns the bytes of a copy of all fields of a part.
std::size_t bytes_of_part(const checkpoint::CheckpointState& state, const checkpoint::CheckpointPart& part) {
    std::size_t bytes = 0;
    for (const checkpoint::StateBox& box : boxes_of(state, part)) bytes += bytes_of(state, box);
    return bytes;
}

std::string string_from(const std::array<std::int32_t, 64>& letters) {
    const char* const first = reinterpret_cast<const char*>(letters.data());
    return {first, ::strnlen(first, sizeof letters)};
}

}  // namespace

SavingPlan plan_saving(const setup::Job& job, const setup::PlanState& current, int ranks) {
    const archive::StoredType type = stored_type(job.dtype);
    std::vector<checkpoint::CheckpointTensor> tensors;
    std::map<std::string, const model::ParameterSpec*> specs;
    const std::vector<model::ParameterSpec> all = unique_parameters(build_layers(job.model));
    for (const model::ParameterSpec& spec : all) specs[spec.name] = &spec;
    for (const layout::HeldTensor& tensor : current.gradients.tensors)
        tensors.push_back(checkpoint::checkpoint_tensor(*specs.at(tensor.name), type, type));
    checkpoint::ModelDescription description{
        .config = config_text_of(job.model, tensors, job.stored ? job.stored->config_text() : ""),
        .tokenizer = job.tokenizer ? job.tokenizer->to_bytes() : "",
        .generation = job.stored ? job.stored->generation() : ""};
    SavingPlan plan{.checkpoints = {},
                    .run = {},
                    .keep = job.config.run.keep,
                    .goes_on = job.config.run.on_save_error == config::OnSaveError::go_on,
                    .description = std::move(description),
                    .state = {}};
    plan.stall_seconds = job.config.run.stall_timeout;
    plan.state = state_of(plan.description, std::move(tensors));
    plan.state.moments = moments_of(job.config.optimizer);
    plan.state.parts = parts_of(current.gradients, ranks);
    return plan;
}

std::vector<checkpoint::CheckpointPart> parts_of(const stage::GradientPlan& gradients, int ranks) {
    std::vector<checkpoint::CheckpointPart> parts;
    for (int rank = 0; rank < ranks; ++rank) {
        layout::HeldState held = held_state(gradients.tensors, gradients.pieces, gradients.buckets, true, rank);
        if (held.owned.empty()) continue;
        parts.push_back({.number = static_cast<std::uint64_t>(rank), .boxes = std::move(held.owned)});
    }
    return parts;
}

Saving::Saving(SavingPlan plan, std::unique_ptr<comm::Communicator> group, std::function<void()> look)
    : plan_(std::move(plan)), group_(std::move(group)), look_(std::move(look)) {
    group_->never_give_up();  // disks may be slow
    lay_out_ahead();
}

// If the run ends early, removes the incomplete checkpoint, which is useless and takes space.
Saving::~Saving() {
    if (!is_in_flight_ || group_->rank() != completer) return;
    device::wait_until([this] { return is_over(written_) && is_over(completed_); },
                       {.stall_seconds = std::numeric_limits<double>::infinity()},
                       [] { return std::string(); });
    archive::remove_partial(plan_.checkpoints);
}

std::optional<std::size_t> Saving::own_part() const {
    const auto own = static_cast<std::uint64_t>(group_->rank());
    const auto part = std::ranges::find(plan_.state.parts, own, &checkpoint::CheckpointPart::number);
    if (part == plan_.state.parts.end()) return std::nullopt;
    return static_cast<std::size_t>(part - plan_.state.parts.begin());
}

// Lays out the part before the first step, and again after the parts have changed.
void Saving::lay_out_ahead() {
    try {
        lay_out();
    } catch (const Error&) {
        if (!plan_.goes_on) throw;  // otherwise the next save tries again
    }
}

void Saving::lay_out() {
    const auto part = own_part();
    if (part && !layout_) layout_.emplace(plan_.state, *part);
    if (group_->rank() == completer && !whole_) whole_.emplace(plan_.state);
}

void Saving::begin(std::uint64_t step, const RunState& state, bool is_awaited) {
    const double start = device::now_seconds();
    if (is_in_flight_) {
        finish();
        waits_.push_back({step, device::now_seconds() - start});
    }
    plan_.state.step = step;
    plan_.state.run = state.facts;
    // These digits are equal on all ranks, and differ between all steps of all runs, so that saves never mix.
    plan_.state.save = sha256_hex(cat(plan_.run, ' ', step)).substr(0, plan_.run.size());
    begun_ = device::now_seconds();
    is_in_flight_ = true;
    is_awaited_ = is_awaited;
    has_reported_ = false;
    copied_ = written_ = completed_ = std::nullopt;
    complaint_.clear();
    failure_ = nullptr;
    ++saves_;
    try {
        lay_out();
        if (state.resizing) write_resizing(*state.resizing);
        start_part(state, is_awaited);
    } catch (const Error&) {
        fail(std::current_exception());
    }
    listen();
    stall_seconds_ += device::now_seconds() - start;
}

std::filesystem::path Saving::save_at_once(std::uint64_t step, const RunState& state) {
    finish();
    if (!has_saved(step)) {
        begin(step, state, true);
        finish();
        refuse_lost();  // afterwards rank 0 has completed the save
    }
    return checkpoint::place_of_checkpoint(plan_.checkpoints, step);
}

// Asks rank 0, which completes checkpoints.
bool Saving::has_saved(std::uint64_t step) {
    const bool is_so = group_->rank() == completer && saved_step_ == step;
    return gather_all(*group_, std::array{is_so ? 1.0 : 0.0}).front() > 0;
}

// Writes synchronously and without a copy, because only this thread may call HDF5, and the gradients of the
// last step stay valid until the next one. Steps wait for the checksum and the write() calls; the worker thread
// syncs the file to disk.
void Saving::write_resizing(const model::ResizingState& state) {
    const std::filesystem::path partial = save_folder(plan_.checkpoints, plan_.state);
    resizing_.emplace(trireme::checkpoint::write_resizing(partial, plan_.state.save, group_->rank(), state));
}

void Saving::sync_resizing() {
    if (resizing_) resizing_->sync();
}

// An awaited save needs no copy, because the state does not change while it is written.
void Saving::start_part(const RunState& state, bool is_awaited) {
    const std::filesystem::path partial = save_folder(plan_.checkpoints, plan_.state);
    const auto part = own_part();
    if (!part) {
        if (resizing_) written_ = start("write", [this] { sync_resizing(); });
        return;
    }
    views_.emplace(state.views);
    writer_.emplace(partial, plan_.state, *layout_, state.updates);
    const std::vector<checkpoint::StateBox> boxes = boxes_of(plan_.state, plan_.state.parts[*part]);
    const auto copy_box = [this](const checkpoint::StateBox& box, std::span<std::byte> to) {
        views_->copy(plan_.state.tensors[box.tensor].name, box.field, box.box, to,
                     {.stall_seconds = plan_.stall_seconds});
    };
    if (is_awaited) {
        written_ = copied_ = start("write", [this, boxes, copy_box] {
            std::vector<std::byte> bytes;
            writer_->write([&](std::size_t b, layout::Range rows) {
                checkpoint::StateBox box = boxes[b];
                box.box.rows = {box.box.rows.begin + rows.begin, rows.count};
                bytes.resize(bytes_of(plan_.state, box));
                copy_box(box, bytes);
                return std::span<const std::byte>(bytes);
            });
            sync_resizing();
        });
        return;
    }
    if (copy_.bytes() == 0)
        copy_ = device::Buffer(bytes_of_part(plan_.state, plan_.state.parts[*part]), device::MemorySpace::host);
    copied_ = start("copy", [this, boxes, copy_box] {
        std::byte* to = copy_.data();
        for (const checkpoint::StateBox& box : boxes) {
            copy_box(box, {to, bytes_of(plan_.state, box)});
            to += bytes_of(plan_.state, box);
        }
    });
    written_ = start("write", [this, boxes] {
        const std::byte* from = copy_.data();
        std::size_t last = 0;
        writer_->write([&](std::size_t b, layout::Range rows) {
            for (; last < b; ++last) from += bytes_of(plan_.state, boxes[last]);
            const std::size_t row_bytes = bytes_of(plan_.state, boxes[b]) / boxes[b].box.rows.count;
            return std::span(from + rows.begin * row_bytes, rows.count * row_bytes);
        });
        sync_resizing();
    });
}

device::Worker::Job Saving::start(const char* name, std::function<void()> job) {
    return worker_.start(traced(trace_, device::TraceLane::checkpoint, name, std::move(job)));
}

void Saving::before_update() {
    if (is_over(copied_)) return;
    const device::TraceSpan span(trace_, device::TraceLane::messages, "wait for the copy");
    const double start = device::now_seconds();
    wait_for(copied_);
    stall_seconds_ += device::now_seconds() - start;
}

bool Saving::is_over(const std::optional<device::Worker::Job>& job) const {
    return !job || worker_.is_done(*job);
}

void Saving::wait_for(const std::optional<device::Worker::Job>& job) {
    const device::Lookout lookout{.look = [this](double) { look_(); }, .tell = [](const std::string&) {}};
    device::wait_until([&] { return is_over(job); },
                       {.stall_seconds = std::numeric_limits<double>::infinity(), .lookout = &lookout},
                       [] { return std::string("the disk"); });
}

void Saving::advance() {
    if (!is_in_flight_) return;
    if (!has_reported_ && is_over(written_)) report();
    if (has_reported_ && !completed_ && have_all_reported()) complete_or_complain();
    if (completed_ && is_over(completed_)) conclude();
}

void Saving::finish() {
    if (!is_in_flight_) return;
    wait_for(written_);
    if (!has_reported_) report();
    group_->wait(tickets_);
    tickets_.clear();
    if (!completed_) complete_or_complain();
    if (!completed_) return;
    wait_for(completed_);
    conclude();
}

void Saving::change_parts(std::vector<checkpoint::CheckpointPart> parts) {
    plan_.state.parts = std::move(parts);
    copy_ = {};
    layout_.reset();
    whole_.reset();
    lay_out_ahead();
}

// Rank 0 posts the receives for the reports of all other ranks.
void Saving::listen() {
    const bool collects = group_->rank() == completer;
    reports_.assign(collects ? static_cast<std::size_t>(group_->size()) : 1, Letters{});
    for (int peer = 0; collects && peer < group_->size(); ++peer) {
        if (peer == completer) continue;
        Letters& letters = reports_[static_cast<std::size_t>(peer)];
        tickets_.push_back(group_->start_receive(
            {letters.data(), device::DType::i32, 1, letters.size(), letters.size()}, peer));
    }
}

void Saving::report() {
    has_reported_ = true;
    take_failure_of_worker();
    Letters& own = reports_.front();
    std::memcpy(own.data(), complaint_.data(), std::min(complaint_.size(), sizeof own - 1));
    if (group_->rank() == completer) return;
    tickets_.push_back(
        group_->start_send({own.data(), device::DType::i32, 1, own.size(), own.size()}, completer));
}

// A failed save that must not fail ends the run here, where the reason is known. An awaited save fails on all
// ranks together, after rank 0 has recorded the reason.
void Saving::fail(std::exception_ptr error) {
    try {
        std::rethrow_exception(error);
    } catch (const Error& known) {
        if (!plan_.goes_on && !is_awaited_) throw;
        if (is_awaited_ && !failure_) failure_ = error;
        complaint_ = known.what();
    }
}

void Saving::refuse_lost() {
    barrier(*group_);
    agree(*group_, [this] {
        if (failure_) std::rethrow_exception(failure_);
    });
}

bool Saving::have_all_reported() {
    std::erase_if(tickets_, [&](comm::Communicator::Ticket ticket) { return group_->is_done(ticket); });
    return tickets_.empty();
}

std::string Saving::first_complaint() const {
    for (std::size_t rank = 0; rank < reports_.size(); ++rank) {
        const std::string text = string_from(reports_[rank]);
        if (!text.empty()) return reports_.size() > 1 ? cat("rank ", rank, ": ", text) : text;
    }
    return {};
}

// Called when every rank has reported its part or its failure. The worker thread completes the checkpoint.
void Saving::complete_or_complain() {
    if (group_->rank() != completer) return conclude();
    complaint_ = first_complaint();
    if (!complaint_.empty()) return conclude();
    completed_ = start("complete", [this] {
        complete(plan_.checkpoints, plan_.state, *whole_, plan_.description);
        checkpoint::keep_newest(plan_.checkpoints, plan_.keep);
    });
}

void Saving::conclude() {
    is_in_flight_ = false;
    completed_.reset();
    writer_.reset();
    resizing_.reset();
    views_.reset();
    if (group_->rank() != completer) return;
    take_failure_of_worker();
    if (complaint_.empty()) {
        saved_step_ = plan_.state.step;
    } else {
        archive::remove_partial(plan_.checkpoints);
    }
    outcomes_.push_back(
        {.step = plan_.state.step, .complaint = complaint_, .seconds = device::now_seconds() - begun_});
}

void Saving::take_failure_of_worker() {
    try {
        worker_.rethrow();
    } catch (const Error&) {
        worker_.clear();
        fail(std::current_exception());
    }
}

std::vector<records::SaveOutcome> Saving::take_outcomes() { return std::exchange(outcomes_, {}); }

}  // namespace trireme::run
