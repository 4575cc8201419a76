#include "trireme/rank/rank_trainer.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "rank/measured_links.hpp"
#include "rank/parameter_updates.hpp"
#include "rank/running_state.hpp"
#include "trireme/checkpoint/resizing_file.hpp"
#include "trireme/device/clock.hpp"
#include "trireme/device/gpu_times.hpp"
#include "trireme/device/machine.hpp"
#include "trireme/rank/evaluate_samples.hpp"
#include "trireme/setup/node_share.hpp"
#include "trireme/setup/slow_ranks.hpp"

namespace trireme::rank {

// A step whose micro-batches have been prepared and whose outcome is not yet known.
struct RankTrainer::StepInFlight {
    records::StepOutcome outcome;
    std::vector<data::Batch> batches;
    std::deque<BatchView> views;
};

namespace {

double sum_of_losses(const std::map<int, model::LossState>& outcomes) {
    double sum = 0;
    for (const auto& [microbatch, outcome] : outcomes) sum += outcome.loss;
    return sum;
}

// Ghosts have a target for every token.
std::size_t targets_of(const setup::Job& job, const std::vector<plan::SampleVisit>& visits,
                       std::size_t tokens) {
    if (job.place == device::MemorySpace::ghost) return tokens;
    return count_targets(*job.corpus, job.samples.train, job.train_rules, visits);
}

// Checks the gradients of a repeated step instead of applying them.
class GradientCheck final : public stage::StepEvents {
public:
    GradientCheck(ParameterUpdates& updates, kernels::ValueCheck& check) : updates_(updates), check_(check) {}
    void update(int /*step*/) override { updates_.check_gradients(check_); }
    bool validate(int /*step*/) override { return true; }

private:
    ParameterUpdates& updates_;
    kernels::ValueCheck& check_;
};

// Returns the bytes of the moments in `views`, which checkpoints store in the type that they have in memory.
std::size_t moment_bytes(const std::vector<checkpoint::StateView>& views) {
    std::size_t bytes = 0;
    for (const checkpoint::StateView& view : views)
        if (view.field != checkpoint::StateField::value) bytes += view.box.size() * bytes_of(view.memory.dtype);
    return bytes;
}

}  // namespace

RankTrainer::RankTrainer(const setup::Job& job, const setup::PlanState& current, const TrainingRank& rank,
                         RankGroups groups)
    : job_(job),
      current_(current),
      trace_(rank.trace),
      stopping_(rank.stopping),
      stream_(rank.stream),
      model_(job, current, rank.number, std::move(groups), trace_),
      updates_(std::make_unique<ParameterUpdates>(job, current, model_, stream_, trace_)),
      sampler_(job.samples.train.size(), job.config.run.seed),
      records_(*model_.groups().record, records::fields_of_record(job.place)) {
    if (job.config.run.trace.shows_kernels) stream_.trace = trace_;
    if (!model_.is_idle()) return;
    model_.groups().update->never_give_up();
    model_.groups().record->never_give_up();
}

RankTrainer::~RankTrainer() = default;

std::size_t RankTrainer::updates() const { return model_.is_idle() ? 0 : updates_->optimizer()->updates(); }

void RankTrainer::call_before_update(std::function<void()> call) {
    updates_->call_before_update(std::move(call));
}

void RankTrainer::await(std::unique_ptr<MomentJourney> moments) { updates_->await(std::move(moments)); }

// A resumed run may begin with a plan that already skips or offloads matmuls. Later changes are announced by
// share_products().
void RankTrainer::begin_stretch(std::size_t first, std::size_t end) {
    const bool is_new = !model_.may_share_products();
    prepare_to_share_products();
    const bool shares_already = !current_.plan.left_out.empty() || !current_.plan.migrations.empty();
    if (is_new && shares_already) share_products();
    if (has_gone_on_) {
        model_.go_on_sharing_products();
        know_spared();
    }
    first_ = first;
    end_ = end;
    executed_ = settled_ = 0;
    updates_->begin_stretch();
    model_.begin(stream_, current_.plan.training,
                 {.dropout_key = RandomKey{job_.config.run.seed}.then("dropout"),
                  .label_smoothing = job_.config.task.label_smoothing,
                  .events = this});
}

// Adds the steps into which the programs of the current step reach.
void RankTrainer::look_ahead() {
    const auto current = first_ + static_cast<std::size_t>(executed_);
    const std::size_t last = current + static_cast<std::size_t>(current_.plan.training.look_ahead);
    const std::size_t end = std::min(end_, last + 1);
    for (std::size_t step = first_ + static_cast<std::size_t>(settled_) + steps_.size(); step < end; ++step) {
        add_step(step);
    }
}

void RankTrainer::add_step(std::size_t step) {
    const bool is_known = next_ && next_->outcome.step == step;
    const StepInFlight& added = *steps_.emplace_back(is_known ? std::move(next_) : prepared(step));
    updates_->add_step(added.outcome.rate);
    model_.add_step(added.views, 1 / static_cast<double>(added.outcome.size.targets));
}

// Prepares the next step while the GPU still executes the current one.
void RankTrainer::prepare_next() {
    const std::size_t step = first_ + static_cast<std::size_t>(settled_) + steps_.size();
    const bool is_prepared = next_ && next_->outcome.step == step;
    if (stream_.is_on_gpu() && step < job_.steps && !is_prepared) next_ = prepared(step);
}

std::unique_ptr<RankTrainer::StepInFlight> RankTrainer::prepared(std::size_t step) {
    const auto visits = sampler_.visits(step * job_.config.run.batch, job_.config.run.batch);
    auto made = std::make_unique<StepInFlight>();
    records::StepOutcome& outcome = made->outcome;
    outcome.step = step;
    outcome.rate = learning_rate(job_.config.optimizer, step, job_.steps);
    for (const plan::SampleVisit& visit : visits) {
        const std::size_t length = job_.samples.train[visit.sample].length;
        outcome.size.tokens += length;
        outcome.size.square_length_sum += std::pow(length, 2);
    }
    outcome.size.targets = targets_of(job_, visits, outcome.size.tokens);
    add_batches(*made, visits);
    return made;
}

// Builds the micro-batches that this rank executes; the others stay empty.
void RankTrainer::add_batches(StepInFlight& step, const std::vector<plan::SampleVisit>& visits) {
    const schedule::PipelineShape& shape = current_.plan.training.shape;
    const auto cut = cut_evenly(visits, static_cast<std::size_t>(shape.microbatches));
    step.batches.resize(is_of_ghosts() ? 0 : cut.size());
    for (std::size_t m = 0; m < cut.size(); ++m) {
        const std::vector<data::Sample>& samples = job_.samples.train;
        plan::Microbatch microbatch;
        const bool is_needed = model_.needs(shape, static_cast<int>(m));
        if (is_needed)
            microbatch = make_microbatch(cut[m], samples, job_.config.schedule.length, job_.samples.longest);
        if (is_of_ghosts()) {
            step.views.emplace_back(job_.model, shape_of(microbatch, samples));
        } else {
            if (is_needed) step.batches[m] = build_batch(*job_.corpus, samples, job_.train_rules, microbatch);
            step.views.emplace_back(step.batches[m], model_.sender_to(stream_));
        }
    }
}

void RankTrainer::after_layer() {
    updates_->contribute();
    if (progress_) progress_->advance_to(100 * model_.part_done());
}

void RankTrainer::update(int step) {
    prepare_next();
    updates_->update(step);
}

bool RankTrainer::validate(int step) { return updates_->validate(step); }

// Sends this rank's record of the executed step to all ranks.
void RankTrainer::report(const RoundResult& result, double begin) {
    stream_.settle();
    std::vector<double> own(records::fields_of_record(job_.place));
    own[records::RecordFields::loss] = sum_of_losses(result.outcomes);
    const StepUpdate& update = updates_->of(executed_);
    own[records::RecordFields::squares] = update.squares;
    own[records::RecordFields::skipped] = update.is_skipped ? 1 : 0;
    own[records::RecordFields::rolled_back] = update.is_rolled_back ? 1 : 0;
    own[records::RecordFields::products] = stream_.products.seconds;
    own[records::RecordFields::product_flops] = stream_.products.flops;
    own[records::RecordFields::whole_flops] = stream_.products.whole_flops;
    own[records::RecordFields::others] = stream_.ledger.seconds() - stream_.products.seconds;
    const plan::RankWaits waits = model_.waits();
    own[records::RecordFields::wait_pipeline] = waits.pipeline;
    own[records::RecordFields::wait_tensor] = waits.tensor;
    own[records::RecordFields::wait_data] = waits.data;
    own[records::RecordFields::wait_others] = waits.others;
    own[records::RecordFields::padded_tokens] = static_cast<double>(result.padded_tokens);
    if (!is_of_ghosts())
        own[records::RecordFields::peak_bytes] = static_cast<double>(setup::peak_bytes(job_.place));
    own[records::RecordFields::joules] = energy_.take();
    if (job_.place == device::MemorySpace::gpu) say_state_of(job_.gpu.get(), own);
    own[records::RecordFields::stop] = static_cast<double>(wish_to_stop());
    own[records::RecordFields::seconds] = device::now_seconds() - begin;
    records_.post(own);
}

// If steps overlap, ranks receive a request to stop some steps later, and then finish the steps that have
// begun.
records::StopReason RankTrainer::wish_to_stop() {
    if (stopping_ == nullptr) return records::StopReason::none;
    const int ahead = current_.plan.training.look_ahead;
    return stopping_->wish(ahead == 0 ? 1 : 2 * (ahead + 1));
}

// Collective over all ranks. Waits for all records of the earliest unsettled step and returns its outcome.
records::StepOutcome RankTrainer::settle() {
    const comm::Gathered all = take_traced(records_, trace_, "wait for all ranks");
    records::StepOutcome outcome = std::move(steps_.front()->outcome);
    add_records(all, outcome);
    if (is_of_ghosts()) outcome.loss = outcome.gradient_norm = std::numeric_limits<double>::quiet_NaN();
    if (current_.plan.training.shape.validates)
        outcome.is_rolled_back = all.sum(records::RecordFields::rolled_back) > 0;
    steps_.pop_front();
    updates_->forget_first();
    ++settled_;
    return outcome;
}

std::vector<records::StepOutcome> RankTrainer::step() {
    const double begin = device::now_seconds();
    energy_.begin();
    stream_.ledger.clear();
    stream_.products = {};
    const std::size_t number = first_ + static_cast<std::size_t>(executed_) + 1;
    stream_.slowness.set(slowness_in(job_.slow, model_.rank(), number));
    stage::GhostPasses* const ghosts = model_.is_idle() ? nullptr : model_.stages().ghosts();
    if (ghosts != nullptr && changes_slowness(job_.slow, number)) ghosts->forget();
    model_.reset_traffic();
    look_ahead();
    progress_.emplace(cat("step ", number), "%", 100, job_.config.run.quiet || model_.rank() != 0);
    if (executed_ == 0) model_.begin_steps();
    const RoundResult result = model_.execute_step(executed_);
    progress_.reset();
    if (model_.is_idle()) updates_->update_nothing();
    prepare_next();
    report(result, begin);
    ++executed_;
    const bool is_last = first_ + static_cast<std::size_t>(executed_) == end_;
    if (is_last) model_.finish();

    // If steps overlap, ranks may be `ahead` steps apart. Outcomes are settled so much later that no rank has
    // to wait.
    const int ahead = current_.plan.training.look_ahead;
    const int behind = is_last || ahead == 0 ? 0 : ahead + 1;
    std::vector<records::StepOutcome> known;
    while (settled_ + behind < executed_) known.push_back(settle());
    energy_.look();
    return known;
}

// Mentions a busy GPU, because a rank whose GPU hangs may itself wait for a rank that waits for that GPU's
// data.
std::string RankTrainer::position() const {
    const bool is_behind = stream_.is_on_gpu() && !stream_.gpu_times->queue().is_idle();
    return model_.position() + (is_behind ? ", and its GPU has not done all that it was given" : "");
}

std::size_t RankTrainer::end_stretch_early() {
    const int begun = executed_ + current_.plan.training.look_ahead;
    end_ = std::min(end_, first_ + static_cast<std::size_t>(begun));
    return end_;
}

void RankTrainer::drain() {
    end_stretch_early();
    while (first_ + static_cast<std::size_t>(executed_) < end_) step();
}

std::optional<NonFiniteFinding> RankTrainer::repeat_with_checks(std::size_t step) {
    if (model_.is_idle()) return std::nullopt;
    const std::unique_ptr<StepInFlight> repeated = prepared(step);
    kernels::ValueCheck check;
    stream_.check = &check;
    GradientCheck gradients(*updates_, check);
    model_.begin(stream_, current_.plan.training,
                 {.dropout_key = RandomKey{job_.config.run.seed}.then("dropout"),
                  .label_smoothing = job_.config.task.label_smoothing,
                  .events = &gradients});
    model_.add_step(repeated->views, 1 / static_cast<double>(repeated->outcome.size.targets));
    model_.begin_steps();
    model_.execute_step(0);
    model_.finish();
    stream_.check = nullptr;
    if (!check.finding()) return std::nullopt;
    return name_input(*check.finding(), model_.stages().parameters());
}

void RankTrainer::fill(const FirstValues& values) {
    std::optional<checkpoint::ReadProgress> progress;
    if (values.stored != nullptr) {
        const std::size_t bytes =
            model_.stored_bytes(*values.stored) + (values.resumes ? moment_bytes(views()) : 0);
        progress.emplace(*values.stored, bytes, job_.config.run.quiet || model_.rank() != 0);
    }
    model_.fill(stream_, job_.config.run.seed, values, updates_->optimizer());
    if (values.resumes && !model_.is_idle())
        restore(*values.stored, model_.stages().parameters().specs(), *updates_->optimizer(),
                threads_of(stream_));
    if (values.goes_on_resizing) go_on_resizing(*values.stored);
}

void RankTrainer::go_on_resizing(const checkpoint::StoredModel& stored) {
    auto state = resizing_state();
    if (!state) return;
    checkpoint::read_resizing(stored.place(), stored.state()->save, model_.rank(), *state);
    model_.restore(*state);
    has_gone_on_ = true;
}

std::optional<model::ResizingState> RankTrainer::resizing_state() {
    prepare_to_share_products();
    return model_.resizing_state();
}

std::vector<checkpoint::StateView> RankTrainer::views() const {
    if (model_.is_idle()) return {};
    return views_of(model_.stages().parameters(), *updates_->optimizer());
}

void RankTrainer::charge_whole_passes(std::shared_ptr<stage::PassTimes> shared) {
    if (!model_.is_idle()) model_.stages().charge_whole_passes(std::move(shared));
}

void RankTrainer::rehearse() {
    const int team = current_.plan.team_of(model_.rank());
    const schedule::Program& program = current_.plan.training.programs[static_cast<std::size_t>(team)];
    const auto has = [&](schedule::Op op) {
        return std::ranges::any_of(program, [&](const schedule::Instruction& each) { return each.op == op; });
    };
    const BatchView batch(job_.model, current_.largest.front());
    if (has(schedule::Op::backward)) model_.stages().rehearse(stream_, batch.tokens(), false);
    if (has(schedule::Op::backward_input)) model_.stages().rehearse(stream_, batch.tokens(), true);
}

void RankTrainer::prepare_to_share_products() {
    if (!setup::shares_products(current_.plan) || model_.may_share_products()) return;
    model_.prepare_to_share_products(stream_, job_.config.policy.resize, job_.config.run.seed);
}

void RankTrainer::share_products() {
    prepare_to_share_products();
    model_.share_products(stream_);
    know_spared();
}

void RankTrainer::know_spared() {
    has_gone_on_ = false;
    if (!job_.config.policy.resize.decays_all) updates_->spare(model_.left_out());
}

layout::RankLinks RankTrainer::measure_links(comm::Communicator& all) {
    return measured_links(model_.groups().tensor.get(), all);
}

RankState RankTrainer::take_state() {
    updates_->finish_moments();
    if (model_.is_idle()) return {};
    stage::LocalParameters& held = model_.stages().parameters();
    optim::Optimizer& optimizer = *updates_->optimizer();
    RankState state{.specs = held.specs(), .shards = optimizer.shards(), .updates = optimizer.updates()};
    state.values = held.take_values();
    state.kept = optimizer.take_kept();
    return state;
}

StatePlace RankTrainer::state_place() {
    if (model_.is_idle()) return {};
    return {.parameters = &model_.stages().parameters(), .optimizer = updates_->optimizer()};
}

records::Evaluation RankTrainer::evaluate(comm::Communicator& control) {
    return evaluate_samples(model_, stream_, job_, current_, control);
}

}  // namespace trireme::rank
