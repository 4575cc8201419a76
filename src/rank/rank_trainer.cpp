#include "trireme/rank/rank_trainer.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "rank/measured_links.hpp"
#include "rank/parameter_updates.hpp"
#include "rank/running_state.hpp"
#include "trireme/checkpoint/resizing_file.hpp"
#include "trireme/device/clock.hpp"
#include "trireme/device/clock_setter.hpp"
#include "trireme/device/gpu_times.hpp"
#include "trireme/device/machine.hpp"
#include "trireme/rank/evaluate_samples.hpp"
#include "trireme/rank/rank_gpu.hpp"
#include "trireme/rank/step_record.hpp"
#include "trireme/setup/node_share.hpp"
#include "trireme/setup/step_shapes.hpp"

namespace trireme::rank {

// A step, from the preparation of its micro-batches until it is settled: see RankTrainer::step().
struct RankTrainer::StepInFlight {
    records::StepOutcome outcome;
    std::vector<data::Batch> batches;  // one per micro-batch; empty in a ghost run
    std::deque<BatchView> views;       // one per micro-batch; may refer to `batches`
    stage::StepWork work;              // without batches
};

namespace {

double sum_losses(const std::map<int, model::LossState>& outcomes) {
    double sum = 0;
    for (const auto& [microbatch, outcome] : outcomes) sum += outcome.loss;
    return sum;
}

// Handles the events of a repeated step: checks the gradients instead of updating the parameters.
class GradientCheck final : public stage::StepEvents {
public:
    GradientCheck(ParameterUpdates& updates, kernels::ValueCheck& check) : updates_(updates), check_(check) {}
    void update(int /*step*/) override { updates_.check_gradients(check_); }
    bool validate(int /*step*/) override { return true; }

private:
    ParameterUpdates& updates_;
    kernels::ValueCheck& check_;
};

}  // namespace

RankTrainer::RankTrainer(const setup::Job& job, const setup::PlanState& current, TrainingRank rank,
                         RankGroups groups)
    : job_(job),
      current_(current),
      trace_(rank.trace),
      stopping_(rank.stopping),
      stream_(std::move(rank.stream)),
      model_(job, current, rank.rank, std::move(groups), trace_, std::move(rank.values)),
      updates_(std::make_unique<ParameterUpdates>(job, current, model_, stream_, trace_)),
      planner_(job, current),
      record_gather_(*model_.groups().record, count_record_numbers(job, current.plan)),
      step_energy_(find_clocked_device(job), job.gpu ? std::optional(job.gpu->waiting_watts()) : std::nullopt) {
    stream_.clock_setter = make_clock_setter(job);
    if (const auto meter = device::make_simulated_device(); meter && meter->read_joules()) {
        stream_.meter = meter;
        model_.set_meter(meter.get());
    }
    if (job.config.run.trace.shows_kernels) stream_.trace = trace_;
    if (!model_.is_idle()) return;
    // An idle rank waits for whole steps of other ranks, which is no stall.
    model_.groups().update->disable_stall_limit();
    model_.groups().record->disable_stall_limit();
}

RankTrainer::~RankTrainer() = default;

checkpoint::UpdateCounts RankTrainer::update_counts() const {
    return find_update_counts(updates_->optimizer());
}

void RankTrainer::set_before_update_callback(std::function<void()> call) {
    updates_->set_before_update_callback(std::move(call));
}

void RankTrainer::prepare_offload(const std::filesystem::path& folder) { updates_->prepare_offload(folder); }

void RankTrainer::await_moments(std::unique_ptr<OptimizerStateMove> moments) {
    updates_->await_moments(std::move(moments));
}

// If a run begins with a plan that skips channels or offloads matmuls, this function calls rebalance_matmuls().
// After a change of plan, the caller has already called rebalance_matmuls().
void RankTrainer::begin_segment(std::size_t first, std::size_t end, std::uint64_t next_plan,
                                bool measures_passes) {
    const bool was_prepared = model_.may_rebalance();
    prepare_rebalancing();
    const bool skips_or_offloads = !current_.plan.skipped.empty() || !current_.plan.migrations.empty();
    if (!was_prepared && skips_or_offloads) rebalance_matmuls();
    if (has_restored_channels_) {
        model_.resume_rebalancing();
        set_undecayed_channels();
    }
    segment_begin_ = first;
    segment_end_ = end;
    next_plan_ = next_plan;
    executed_steps_ = settled_steps_ = 0;
    updates_->begin_segment();
    model_.begin(stream_, current_.plan.training,
                 {.dropout_key = RandomKey{job_.config.run.seed}.then("dropout"),
                  .label_smoothing = job_.config.task.label_smoothing,
                  .events = this,
                  .measures_passes = measures_passes});
}

// Adds the next step to execute, and the later steps whose micro-batches the programs of the next step compute.
void RankTrainer::look_ahead() {
    const std::size_t next_step = segment_begin_ + static_cast<std::size_t>(executed_steps_);
    const std::size_t last_step = next_step + static_cast<std::size_t>(current_.plan.training.look_ahead);
    const std::size_t end = std::min(segment_end_, last_step + 1);
    const std::size_t first_step_to_add =
        segment_begin_ + static_cast<std::size_t>(settled_steps_) + unsettled_steps_.size();
    for (std::size_t step = first_step_to_add; step < end; ++step) add_step(step);
}

void RankTrainer::add_step(std::size_t step) {
    const bool is_prepared = next_step_ && next_step_->outcome.step == step;
    const StepInFlight& added =
        *unsettled_steps_.emplace_back(is_prepared ? std::move(next_step_) : prepare_step(step));
    updates_->add_step(added.outcome.learning_rate);
    if (added.work.offloads_state) updates_->call_before_update();
    model_.add_step(added.views, added.work);
}

// Prepares the first step that has not been added, while the GPU executes the current step.
void RankTrainer::prepare_next_step() {
    const std::size_t step =
        segment_begin_ + static_cast<std::size_t>(settled_steps_) + unsettled_steps_.size();
    const bool is_prepared = next_step_ && next_step_->outcome.step == step;
    const bool has_other_plan = step == segment_end_ && next_plan_ != 0;
    if (stream_.is_on_gpu() && step < current_.samples.count_steps() && !is_prepared && !has_other_plan)
        next_step_ = prepare_step(step);
}

std::unique_ptr<RankTrainer::StepInFlight> RankTrainer::prepare_step(std::size_t step) {
    const setup::PlannedStep& planned = planner_.plan_step(step);
    auto step_in_flight = std::make_unique<StepInFlight>();
    step_in_flight->outcome = {.step = step,
                               .coming_step = step + setup::count_steps_to_compare(current_.plan),
                               .learning_rate = current_.samples.find_rate(job_.config.optimizer, step),
                               .size = planned.size,
                               .microbatches = planned.count_filled(),
                               .planning_seconds = planned.planning_seconds};
    step_in_flight->work = {.loss_scale = 1 / static_cast<double>(planned.size.targets),
                            .levels = planned.fit.levels,
                            .offloads_state = planned.fit.offloads_state};
    add_batches(*step_in_flight, planned.microbatches);
    return step_in_flight;
}

// Builds the batches of the micro-batches that this rank executes; the other batches stay empty.
void RankTrainer::add_batches(StepInFlight& step, const std::vector<plan::Microbatch>& microbatches) {
    step.batches.resize(is_ghost_run() ? 0 : microbatches.size());
    for (std::size_t m = 0; m < microbatches.size(); ++m) {
        const bool is_needed = model_.executes_microbatch(current_.plan.training.shape, static_cast<int>(m));
        if (is_ghost_run()) {
            step.views.emplace_back(job_.model,
                                    make_batch_shape(job_, is_needed ? microbatches[m] : plan::Microbatch{}));
        } else {
            if (is_needed)
                step.batches[m] =
                    build_batch(*job_.corpus, job_.samples.train, job_.train_rules, microbatches[m]);
            step.views.emplace_back(step.batches[m], model_.get_uploader(stream_));
        }
    }
}

void RankTrainer::after_layer() {
    updates_->post_norms();
    if (progress_) progress_->advance_to(100 * model_.compute_executed_fraction());
}

void RankTrainer::update(int step) {
    prepare_next_step();
    updates_->update(step);
}

bool RankTrainer::validate(int step) { return updates_->validate(step); }

// Starts to send this rank's record of the executed step, which began at time `begin`, to all ranks.
void RankTrainer::post_record(const StepResult& result, double begin) {
    stream_.synchronize();
    if (stream_.clock_setter) stream_.clock_setter->wait(stream_);  // at most one step of requests
    std::vector<double> record(record_gather_.width());
    record[records::RecordFields::loss] = sum_losses(result.outcomes);
    record_update(updates_->find_update(executed_steps_), job_, record);
    record_kernels(stream_, record);
    record_waits(model_.measure_waits(), record);
    record_work(stream_, model_, *updates_, job_, record);
    const double seconds = device::now_seconds() - begin;
    record_energy(step_energy_.take(measure_phases(stream_, model_, seconds)), record);
    record[records::RecordFields::padded_tokens] = static_cast<double>(result.padded_tokens);
    if (!is_ghost_run())
        record[records::RecordFields::peak_bytes] =
            static_cast<double>(setup::read_peak_bytes(job_.memory_space));
    if (job_.memory_space == device::MemorySpace::gpu) record_gpu_state(job_.gpu.get(), record);
    record_pass_times(result.pass_times, job_, record);
    record[records::RecordFields::stop] = static_cast<double>(request_stop());
    const StepInFlight& step = *unsettled_steps_[static_cast<std::size_t>(executed_steps_ - settled_steps_)];
    const bool has_other_plan = step.outcome.coming_step >= segment_end_ && next_plan_ != 0;
    record[records::RecordFields::coming_step] =
        static_cast<double>(has_other_plan ? next_plan_ : planner_.find_hash(step.outcome.coming_step));
    record[records::RecordFields::seconds] = device::now_seconds() - begin;
    record_gather_.post(record);
}

// Passes to find_stop_reason() the number of steps that the job still executes if this rank requests a stop
// only in the next call. One step precedes the next call. If steps overlap, the other ranks receive the request
// `ahead` + 1 steps after the next call, and then finish the `ahead` steps that have begun.
records::StopReason RankTrainer::request_stop() {
    if (stopping_ == nullptr) return records::StopReason::none;
    const int ahead = current_.plan.training.look_ahead;
    return stopping_->find_stop_reason(ahead == 0 ? 1 : 2 * (ahead + 1));
}

// Collective over all ranks. Waits for all ranks' records of the earliest unsettled step, and returns the
// outcome of this step.
records::StepOutcome RankTrainer::settle_step() {
    const comm::GatheredNumbers gathered = take_traced(record_gather_, trace_, "wait for all ranks");
    records::StepOutcome outcome = std::move(unsettled_steps_.front()->outcome);
    outcome.block_squares.resize(count_recorded_blocks(job_));
    add_records(gathered, job_.memory_space, outcome);
    if (is_ghost_run()) outcome.loss = outcome.gradient_norm = std::numeric_limits<double>::quiet_NaN();
    if (current_.plan.training.shape.has_speculative_updates)
        outcome.is_rolled_back = gathered.sum(records::RecordFields::is_rolled_back) > 0;
    unsettled_steps_.pop_front();
    updates_->forget_first();
    ++settled_steps_;
    return outcome;
}

std::vector<records::StepOutcome> RankTrainer::step() {
    const double begin_time = device::now_seconds();
    step_energy_.begin();
    stream_.clear_work();
    const std::size_t step_number = segment_begin_ + static_cast<std::size_t>(executed_steps_) + 1;  // from 1
    stream_.slowness.set(find_slowness(job_.slow_run, model_.rank(), step_number));
    stage::GhostPasses* const ghosts = model_.is_idle() ? nullptr : model_.stages().ghosts();
    if (ghosts != nullptr && has_slowness_change(job_.slow_run, step_number)) ghosts->forget_times();
    model_.reset_traffic();
    look_ahead();
    progress_.emplace(cat("step ", step_number), "%", 100, job_.config.run.quiet || model_.rank() != 0);
    if (!model_.trains_any_stage()) updates_->post_no_norm();
    if (executed_steps_ == 0) model_.begin_steps();
    const StepResult result = model_.execute_step(executed_steps_);
    progress_.reset();
    if (!model_.trains_any_stage()) updates_->join_update();
    prepare_next_step();
    post_record(result, begin_time);
    ++executed_steps_;
    const bool ends_segment = segment_begin_ + static_cast<std::size_t>(executed_steps_) == segment_end_;
    if (ends_segment) model_.finish();

    // If steps overlap, ranks may be up to `ahead` steps apart. Each step is settled `ahead` + 1 steps later:
    // the records of all ranks have then arrived, so no rank waits for records. The last step of the segment
    // settles all remaining steps.
    const int ahead = current_.plan.training.look_ahead;
    const int delay_steps = ends_segment || ahead == 0 ? 0 : ahead + 1;
    std::vector<records::StepOutcome> outcomes;
    while (settled_steps_ + delay_steps < executed_steps_) outcomes.push_back(settle_step());
    step_energy_.end();
    return outcomes;
}

// Mentions a busy GPU, because a GPU that hangs may cause the stall: this rank may wait for another rank, which
// waits for data from this rank's GPU.
std::string RankTrainer::describe_position() const {
    const bool is_gpu_busy = stream_.is_on_gpu() && !stream_.gpu_times->queue().is_idle();
    return model_.describe_position() + (is_gpu_busy ? ", and its GPU has unfinished work" : "");
}

std::size_t RankTrainer::end_segment_early() {
    const int begun_steps = executed_steps_ + current_.plan.training.look_ahead;
    segment_end_ = std::min(segment_end_, segment_begin_ + static_cast<std::size_t>(begun_steps));
    return segment_end_;
}

void RankTrainer::drain() {
    end_segment_early();
    while (segment_begin_ + static_cast<std::size_t>(executed_steps_) < segment_end_) step();
}

std::optional<NonFiniteFinding> RankTrainer::repeat_with_checks(std::size_t step) {
    if (model_.is_idle()) return std::nullopt;
    const std::unique_ptr<StepInFlight> repeated = prepare_step(step);
    kernels::ValueCheck value_check;
    stream_.check = &value_check;
    GradientCheck gradient_check(*updates_, value_check);
    model_.begin(stream_, current_.plan.training,
                 {.dropout_key = RandomKey{job_.config.run.seed}.then("dropout"),
                  .label_smoothing = job_.config.task.label_smoothing,
                  .events = &gradient_check});
    model_.add_step(repeated->views, repeated->work);
    model_.begin_steps();
    model_.execute_step(0);
    model_.finish();
    updates_->take_sent_bytes();  // those of the repeated step do not count
    stream_.check = nullptr;
    if (!value_check.finding()) return std::nullopt;
    return make_finding(*value_check.finding(), model_.stages().parameters());
}

void RankTrainer::fill(const InitialValues& values) {
    std::optional<checkpoint::ReadProgress> progress;
    if (values.stored != nullptr) {
        const std::size_t bytes = model_.count_stored_bytes(*values.stored) +
                                  (values.resumes ? count_moment_bytes(list_state_views()) : 0);
        progress.emplace(*values.stored, bytes, job_.config.run.quiet || model_.rank() != 0);
    }
    model_.fill(stream_, job_.config.run.seed, values, updates_->optimizer());
    if (values.resumes && !model_.is_idle())
        restore_optimizer(*values.stored, model_.stages().parameters().specs(), *updates_->optimizer(),
                          count_stream_threads(stream_));
    if (values.resumes_resizing) restore_pruned_channels(*values.stored);
}

void RankTrainer::restore_pruned_channels(const checkpoint::StoredModel& stored) {
    auto state = resizing_state();
    if (!state) return;
    checkpoint::read_resizing(stored.path(), stored.state()->save_id, model_.rank(), *state);
    model_.restore_resizing(*state);
    has_restored_channels_ = true;
}

std::optional<model::ResizingState> RankTrainer::resizing_state() {
    prepare_rebalancing();
    return model_.resizing_state();
}

std::vector<checkpoint::StateView> RankTrainer::list_state_views() const {
    if (model_.is_idle()) return {};
    return make_state_views(model_.stages().parameters(), *updates_->optimizer());
}

void RankTrainer::charge_passes_as_whole(std::shared_ptr<stage::PassTimes> shared_times) {
    if (!model_.is_idle()) model_.stages().charge_passes_as_whole(std::move(shared_times));
}

// Rehearses the passes of the largest micro-batch of a step. Backward passes are whole, split, or both, as in
// the team's program.
void RankTrainer::measure_team_passes() {
    const int team = current_.plan.find_team(model_.rank());
    const stage::BackwardPasses passes =
        stage::find_backward_passes(current_.plan.training.programs[static_cast<std::size_t>(team)]);
    const BatchView batch(job_.model, current_.largest_microbatches.front());
    if (passes != stage::BackwardPasses::split)
        model_.stages().rehearse(stream_, batch.tokens(), /*splits_backward=*/false);
    if (passes == stage::BackwardPasses::split || passes == stage::BackwardPasses::both)
        model_.stages().rehearse(stream_, batch.tokens(), /*splits_backward=*/true);
}

void RankTrainer::prepare_rebalancing() {
    if (!setup::may_offload_or_skip(current_.plan) || model_.may_rebalance()) return;
    model_.prepare_rebalancing(stream_, job_.config.policy.resize, job_.config.run.seed);
}

void RankTrainer::rebalance_matmuls() {
    prepare_rebalancing();
    model_.rebalance_matmuls(stream_);
    set_undecayed_channels();
}

void RankTrainer::set_undecayed_channels() {
    has_restored_channels_ = false;
    if (!job_.config.policy.resize.decays_skipped_weights)
        updates_->exempt_from_decay(model_.skipped_channels());
}

layout::RankLinks RankTrainer::measure_links(comm::Communicator& all) {
    return measure_rank_links(model_.groups().tensor.get(), all);
}

RankState RankTrainer::take_state() {
    stream_.restore_clock();
    return updates_->take_state();
}

StateDestination RankTrainer::state_destination() {
    if (model_.is_idle()) return {};
    return {&model_.stages().parameters(), updates_->optimizer(), &stream_};
}

records::Evaluation RankTrainer::evaluate(comm::Communicator& control) {
    stream_.restore_clock();
    if (updates_->may_offload()) updates_->call_before_update();  // the evaluation may offload optimizer state
    return evaluate_samples(model_, stream_, job_, current_, control);
}

}  // namespace trireme::rank
