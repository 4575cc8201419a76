#include "trireme/rank/rank_trainer.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "rank/simulated_sums.hpp"
#include "trireme/device/clock.hpp"
#include "trireme/device/gpu_times.hpp"
#include "trireme/device/machine.hpp"
#include "trireme/setup/node_share.hpp"
#include "trireme/setup/slow_ranks.hpp"

namespace trireme {

// From when its micro-batches are known until its outcome is.
struct RankTrainer::StepInFlight {
    StepOutcome outcome;
    std::vector<Batch> batches;
    std::deque<BatchView> views;
    double squares = 0;  // of the gradients that this rank adds up
    double scale = 1;    // of the gradients of all, so that their norm keeps to the clip
    bool is_judged = false;
};

namespace {

// What each rank says of a step before it is updated.
struct UpdateFields {
    enum : std::size_t { loss, squares, count };
};

double sum_of_losses(const std::map<int, LossState>& outcomes) {
    double sum = 0;
    for (const auto& [micro_batch, outcome] : outcomes) sum += outcome.loss;
    return sum;
}

// Ghosts predict every row.
std::size_t targets_of(const Job& job, const std::vector<SampleVisit>& visits, std::size_t tokens) {
    if (job.place == Place::ghost) return tokens;
    return count_targets(*job.corpus, job.samples.train, job.train_rules, visits);
}

// The posts of all ranks. The trace shows the wait for them.
Gathered take_traced(Tally& tally, Trace* trace, const char* wait) {
    const TraceSpan span(trace, TraceLane::messages, wait);
    return tally.take();
}

}  // namespace

RankTrainer::RankTrainer(const Job& job, const PlanState& current, const TrainingRank& rank, RankGroups groups)
    : job_(job),
      current_(current),
      trace_(rank.trace),
      stopping_(rank.stopping),
      stream_(rank.stream),
      model_(job, current, rank.number, std::move(groups), trace_),
      sampler_(job.samples.train.size(), job.config.run.seed),
      updates_(*model_.groups().update, UpdateFields::count),
      records_(*model_.groups().record, fields_of_record(job.place)) {
    if (job.config.run.trace.shows_kernels) stream_.trace = trace_;
    if (model_.is_idle()) {
        model_.groups().update->never_give_up();
        model_.groups().record->never_give_up();
        return;
    }
    const LocalParameters& held = model_.stages().parameters();
    sum_bytes_ = bytes_of_sums(current.gradients, model_.rank(), wide_of(job.dtype));
    for (std::size_t copy = 0; copy < held.copies().gradients; ++copy) {
        exchanges_.emplace_back(current.gradients, model_.rank(), held.specs(), held.values(),
                                held.gradients(copy), model_.groups().data, job.place);
        if (stream_.is_on_gpu()) exchanges_.back().wait_for(stream_.gpu_times->queue());
    }
    const std::vector<ParameterShard>& own_shards = exchanges_.front().own_shards();
    optimizer_.emplace(job.config.optimizer, held.specs(),
                       updated_shards({job, current}, exchanges_.front(), held.specs()), job.dtype, job.place,
                       current.plan.training.shape.validates);
    scratch_.emplace("norm", is_of_ghosts() ? 0 : norm_scratch_bytes(own_shards.size()), job.place);
    model_.stages().sum_with(&exchanges_);
    model_.call_now_and_then([this] {
        contribute();
        if (awaited_) let_moments_come();
        if (progress_) progress_->advance_to(100 * model_.part_done());
    });
}

RankTrainer::~RankTrainer() = default;

// A run that goes on begins with what its plan shares; one whose plan comes to share something is told so.
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
    executed_ = settled_ = contributed_ = 0;
    model_.begin(stream_, current_.plan.training,
                 {.dropout_key = RandomKey{job_.config.run.seed}.then("dropout"),
                  .label_smoothing = job_.config.task.label_smoothing,
                  .update = [this](int step) { update(step); },
                  .validate = [this](int step) { return validate(step); }});
}

// The programs of a step reach into later ones.
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
    model_.add_step(added.views, 1 / static_cast<double>(added.outcome.size.targets));
}

// While the GPU is still at work on the last one.
void RankTrainer::prepare_next() {
    const std::size_t step = first_ + static_cast<std::size_t>(settled_) + steps_.size();
    const bool is_prepared = next_ && next_->outcome.step == step;
    if (stream_.is_on_gpu() && step < job_.steps && !is_prepared) next_ = prepared(step);
}

std::unique_ptr<RankTrainer::StepInFlight> RankTrainer::prepared(std::size_t step) {
    const auto visits = sampler_.visits(step * job_.config.run.batch, job_.config.run.batch);
    auto made = std::make_unique<StepInFlight>();
    StepOutcome& outcome = made->outcome;
    outcome.step = step;
    outcome.rate = learning_rate(job_.config.optimizer, step, job_.steps);
    for (const SampleVisit& visit : visits) {
        const std::size_t length = job_.samples.train[visit.sample].length;
        outcome.size.tokens += length;
        outcome.size.square_length_sum += std::pow(length, 2);
    }
    outcome.size.targets = targets_of(job_, visits, outcome.size.tokens);
    add_batches(*made, visits);
    return made;
}

// Of those micro-batches that pass this rank; the others stay empty.
void RankTrainer::add_batches(StepInFlight& step, const std::vector<SampleVisit>& visits) {
    const PipelineShape& shape = current_.plan.training.shape;
    const auto cut = cut_evenly(visits, static_cast<std::size_t>(shape.micro_batches));
    step.batches.resize(is_of_ghosts() ? 0 : cut.size());
    for (std::size_t m = 0; m < cut.size(); ++m) {
        const std::vector<Sample>& samples = job_.samples.train;
        MicroBatch micro_batch;
        const bool is_needed = model_.needs(shape, static_cast<int>(m));
        if (is_needed)
            micro_batch = make_micro_batch(cut[m], samples, job_.config.schedule.length, job_.samples.longest);
        if (is_of_ghosts()) {
            step.views.emplace_back(job_.model, shape_of(micro_batch, samples));
        } else {
            if (is_needed) step.batches[m] = build_batch(*job_.corpus, samples, job_.train_rules, micro_batch);
            step.views.emplace_back(step.batches[m], model_.sender_to(stream_));
        }
    }
}

// Says of each step whose gradients have come together here what an update waits for; never waits itself.
void RankTrainer::contribute() {
    for (; model_.has_summed(contributed_); ++contributed_) {
        StepInFlight& step = in_flight(contributed_);
        const std::size_t copy = model_.stages().gradients_of(contributed_);
        step.squares = sum_of_squares(stream_, model_.stages().parameters().gradients(copy),
                                      exchanges_[copy].own_shards(), *scratch_);
        updates_.post(std::array{model_.own_loss(contributed_), step.squares});
    }
}

void RankTrainer::await(std::unique_ptr<MomentJourney> moments) {
    awaited_ = std::move(moments);
    arrival_.emplace(trace_, TraceLane::state, "moments");
}

void RankTrainer::let_moments_come() {
    awaited_->advance();
    if (awaited_->is_over()) arrival_.reset();
}

// Before the first update behind a move. A rank's gradients are summed before it waits here, so nobody whom it
// keeps waiting is one that it waits for.
void RankTrainer::have_moments() {
    if (!awaited_) return;
    const TraceSpan span(trace_, TraceLane::messages, "wait for moments");
    awaited_->finish();
    awaited_.reset();
    arrival_.reset();
}

// Of all stages. Where updates are validated it goes ahead without the norm, as if there were nothing to scale,
// unless the step before taught otherwise.
void RankTrainer::update(int number) {
    prepare_next();
    StepInFlight& step = in_flight(number);
    const std::size_t copy = model_.stages().gradients_of(number);
    {
        const TraceSpan span(trace_, TraceLane::messages, "wait for gradients");
        exchanges_[copy].finish();
    }
    charge_sums(stream_, sum_bytes_);
    contribute();
    have_moments();
    const bool goes_ahead = current_.plan.training.shape.validates && may_go_ahead_;
    if (goes_ahead) {
        optimizer_->back_up(stream_, model_.stages().parameters().values());
    } else {
        judge(step);
    }
    if (step.outcome.is_skipped) return;
    if (!current_.plan.shards_optimizer) exchanges_[copy].share_gradients();
    apply(step, copy);
}

// Whether the update is what it would have been with the norm known; one that is not has been made again. What
// is found is the same on all ranks.
bool RankTrainer::validate(int number) {
    StepInFlight& step = in_flight(number);
    if (step.is_judged) return true;
    judge(step);
    if (may_go_ahead_) return true;
    take_back(step, model_.stages().gradients_of(number));
    step.outcome.is_rolled_back = true;
    return false;
}

// Loss and norm are the same bits on all ranks that wait for each other, and so is the decision to leave the
// update out.
void RankTrainer::judge(StepInFlight& step) {
    const Gathered all = take_traced(updates_, trace_, "wait for norms");
    const double norm = std::sqrt(all.sum(UpdateFields::squares));
    const bool is_finite = std::isfinite(all.sum(UpdateFields::loss)) && std::isfinite(norm);
    if (!is_finite && job_.config.run.on_nan == OnNan::stop) has_diverged_ = true;
    step.outcome.is_skipped = !is_finite || has_diverged_;
    step.scale = clip_scale(norm, job_.config.optimizer.clip);
    step.is_judged = true;
    may_go_ahead_ = step.scale == 1 && !step.outcome.is_skipped;
}

void RankTrainer::apply(const StepInFlight& step, std::size_t copy) {
    const LocalParameters& held = model_.stages().parameters();
    before_update_();
    optimizer_->update(stream_, held.values(), held.gradients(copy), step.outcome.rate, step.scale, &spared_);
    if (current_.plan.shards_optimizer) exchanges_[copy].share_values();
}

void RankTrainer::take_back(const StepInFlight& step, std::size_t copy) {
    optimizer_->restore(stream_, model_.stages().parameters().values());
    if (!step.outcome.is_skipped) return apply(step, copy);
    if (current_.plan.shards_optimizer) exchanges_[copy].share_values();
}

// Tells all ranks how the step that has been executed went here.
void RankTrainer::report(const RoundResult& result, double begin) {
    const StepInFlight& step = in_flight(executed_);
    stream_.settle();
    std::vector<double> own(fields_of_record(job_.place));
    own[RecordFields::loss] = sum_of_losses(result.outcomes);
    own[RecordFields::squares] = step.squares;
    own[RecordFields::skipped] = step.outcome.is_skipped ? 1 : 0;
    own[RecordFields::rolled_back] = step.outcome.is_rolled_back.value_or(false) ? 1 : 0;
    own[RecordFields::products] = stream_.products.seconds;
    own[RecordFields::product_flops] = stream_.products.flops;
    own[RecordFields::whole_flops] = stream_.products.whole_flops;
    own[RecordFields::others] = stream_.ledger.seconds() - stream_.products.seconds;
    const RankWaits waits = model_.waits();
    own[RecordFields::wait_pipeline] = waits.pipeline;
    own[RecordFields::wait_tensor] = waits.tensor;
    own[RecordFields::wait_data] = waits.data;
    own[RecordFields::wait_others] = waits.others;
    own[RecordFields::padded_tokens] = static_cast<double>(result.padded_tokens);
    if (!is_of_ghosts()) own[RecordFields::peak_bytes] = static_cast<double>(peak_bytes(job_.place));
    own[RecordFields::joules] = energy_.take();
    if (job_.place == Place::gpu) say_state_of(job_.gpu.get(), own);
    own[RecordFields::stop] = static_cast<double>(wish_to_stop());
    own[RecordFields::seconds] = now_seconds() - begin;
    records_.post(own);
}

// Where work is in flight, all ranks know of a wish some steps later, and then finish what is begun.
StopReason RankTrainer::wish_to_stop() {
    if (stopping_ == nullptr) return StopReason::none;
    const int ahead = current_.plan.training.look_ahead;
    return stopping_->wish(ahead == 0 ? 1 : 2 * (ahead + 1));
}

// What all ranks have said of the earliest step that has not been settled.
StepOutcome RankTrainer::settle() {
    const Gathered all = take_traced(records_, trace_, "wait for all ranks");
    StepOutcome outcome = std::move(steps_.front()->outcome);
    add_records(all, outcome);
    if (is_of_ghosts()) outcome.loss = outcome.gradient_norm = std::numeric_limits<double>::quiet_NaN();
    if (current_.plan.training.shape.validates) outcome.is_rolled_back = all.sum(RecordFields::rolled_back) > 0;
    steps_.pop_front();
    ++settled_;
    return outcome;
}

std::vector<StepOutcome> RankTrainer::step() {
    const double begin = now_seconds();
    energy_.begin();
    stream_.ledger.clear();
    stream_.products = {};
    const std::size_t number = first_ + static_cast<std::size_t>(executed_) + 1;
    stream_.slowness.set(slowness_in(job_.slow, model_.rank(), number));
    GhostPasses* const ghosts = model_.is_idle() ? nullptr : model_.stages().ghosts();
    if (ghosts != nullptr && changes_slowness(job_.slow, number)) ghosts->forget();
    model_.reset_traffic();
    look_ahead();
    progress_.emplace(cat("step ", number), "%", 100, job_.config.run.quiet || model_.rank() != 0);
    if (executed_ == 0) model_.begin_steps();
    const RoundResult result = model_.execute_step(executed_);
    progress_.reset();
    if (model_.is_idle()) {
        have_moments();
        updates_.post(std::array{0.0, 0.0});
        updates_.take();
    }
    prepare_next();
    report(result, begin);
    ++executed_;
    const bool is_last = first_ + static_cast<std::size_t>(executed_) == end_;
    if (is_last) model_.finish();

    // Where work is in flight, ranks are as many steps apart as it spans: to wait for all is to wait for
    // nobody.
    const int ahead = current_.plan.training.look_ahead;
    const int behind = is_last || ahead == 0 ? 0 : ahead + 1;
    std::vector<StepOutcome> known;
    while (settled_ + behind < executed_) known.push_back(settle());
    energy_.look();
    return known;
}

// A rank whose GPU hangs may be waiting for another one, which waits for what has not left that GPU.
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
    ValueCheck check;
    stream_.check = &check;
    model_.begin(stream_, current_.plan.training,
                 {.dropout_key = RandomKey{job_.config.run.seed}.then("dropout"),
                  .label_smoothing = job_.config.task.label_smoothing,
                  .update = [&](int) { check_gradients(check); },
                  .validate = [](int) { return true; }});
    model_.add_step(repeated->views, 1 / static_cast<double>(repeated->outcome.size.targets));
    model_.begin_steps();
    model_.execute_step(0);
    model_.finish();
    stream_.check = nullptr;
    if (!check.finding()) return std::nullopt;
    return name_input(*check.finding(), model_.stages().parameters());
}

// The sums over micro-batches and ranks, which no kernel has made, and their squares.
void RankTrainer::check_gradients(ValueCheck& check) {
    GradientExchange& exchange = exchanges_.front();
    exchange.finish();
    check.begin_pass(-1, -1, true);
    check.begin_layer("gradient norm");
    sum_of_squares(stream_, model_.stages().parameters().gradients(), exchange.own_shards(), *scratch_);
}

}  // namespace trireme
