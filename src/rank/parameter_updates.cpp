#include "rank/parameter_updates.hpp"

#include <array>
#include <cmath>

#include "rank/simulated_sums.hpp"
#include "trireme/device/gpu_times.hpp"

namespace trireme::rank {
namespace {

// The numbers that each rank posts before the update of a step.
struct NormFields {
    enum : std::size_t { loss, squares, count };
};

}  // namespace

comm::Gathered take_traced(comm::Tally& tally, device::Trace* trace, const char* wait) {
    const device::TraceSpan span(trace, device::TraceLane::messages, wait);
    return tally.take();
}

ParameterUpdates::ParameterUpdates(const setup::Job& job, const setup::PlanState& current, RankModel& model,
                                   device::Stream& stream, device::Trace* trace)
    : job_(job),
      current_(current),
      model_(model),
      stream_(stream),
      trace_(trace),
      norms_(*model.groups().update, NormFields::count) {
    if (model_.is_idle()) return;
    const stage::LocalParameters& held = model_.stages().parameters();
    sum_bytes_ = bytes_of_sums(current.gradients, model_.rank(), wide_of(job.dtype));
    for (std::size_t copy = 0; copy < held.copies().gradients; ++copy) {
        exchanges_.emplace_back(current.gradients, model_.rank(), held.specs(), held.values(),
                                held.gradients(copy), model_.groups().data, job.place);
        if (stream_.is_on_gpu()) exchanges_.back().wait_for(stream_.gpu_times->queue());
    }
    const std::vector<optim::ParameterShard>& own_shards = exchanges_.front().own_shards();
    optimizer_.emplace(job.config.optimizer, held.specs(),
                       setup::updated_shards({job, current}, exchanges_.front(), held.specs()), job.dtype,
                       job.place, current.plan.training.shape.validates);
    scratch_.emplace("norm",
                     job.place == device::MemorySpace::ghost ? 0 : optim::norm_scratch_bytes(own_shards.size()),
                     job.place);
    model_.stages().sum_with(&exchanges_);
}

void ParameterUpdates::begin_stretch() {
    steps_.clear();
    forgotten_ = contributed_ = 0;
}

void ParameterUpdates::add_step(double rate) { steps_.push_back({.rate = rate}); }

void ParameterUpdates::forget_first() {
    steps_.pop_front();
    ++forgotten_;
}

void ParameterUpdates::contribute() {
    for (; model_.has_summed(contributed_); ++contributed_) {
        StepUpdate& step = at(contributed_);
        const std::size_t copy = copy_of(contributed_);
        step.squares = sum_of_squares(stream_, model_.stages().parameters().gradients(copy),
                                      exchanges_[copy].own_shards(), *scratch_);
        norms_.post(std::array{model_.own_loss(contributed_), step.squares});
    }
    if (!awaited_) return;
    awaited_->advance();
    if (awaited_->is_over()) arrival_.reset();
}

void ParameterUpdates::await(std::unique_ptr<MomentJourney> moments) {
    awaited_ = std::move(moments);
    arrival_.emplace(trace_, device::TraceLane::state, "moments");
}

// A rank waits here only after its gradients have been reduced, so there is no circular wait.
void ParameterUpdates::finish_moments() {
    if (!awaited_) return;
    const device::TraceSpan span(trace_, device::TraceLane::messages, "wait for moments");
    awaited_->finish();
    awaited_.reset();
    arrival_.reset();
}

void ParameterUpdates::update(int number) {
    StepUpdate& step = at(number);
    const std::size_t copy = copy_of(number);
    {
        const device::TraceSpan span(trace_, device::TraceLane::messages, "wait for gradients");
        exchanges_[copy].finish();
    }
    charge_sums(stream_, sum_bytes_);
    contribute();
    finish_moments();
    const bool goes_ahead = current_.plan.training.shape.validates && may_go_ahead_;
    if (goes_ahead) {
        optimizer_->back_up(stream_, model_.stages().parameters().values());
    } else {
        judge(step);
    }
    if (step.is_skipped) return;
    if (!current_.plan.shards_optimizer) exchanges_[copy].share_gradients();
    apply(step, copy);
}

// The result is the same on all ranks.
bool ParameterUpdates::validate(int number) {
    StepUpdate& step = at(number);
    if (step.is_judged) return true;
    judge(step);
    if (may_go_ahead_) return true;
    take_back(step, copy_of(number));
    step.is_rolled_back = true;
    return false;
}

// Loss and norm have equal bits on all ranks, so either all ranks skip the update or none does.
void ParameterUpdates::judge(StepUpdate& step) {
    const comm::Gathered all = take_traced(norms_, trace_, "wait for norms");
    const double norm = std::sqrt(all.sum(NormFields::squares));
    const bool is_finite = std::isfinite(all.sum(NormFields::loss)) && std::isfinite(norm);
    if (!is_finite && job_.config.run.on_nan == config::OnNan::stop) has_diverged_ = true;
    step.is_skipped = !is_finite || has_diverged_;
    step.scale = optim::clip_scale(norm, job_.config.optimizer.clip);
    step.is_judged = true;
    may_go_ahead_ = step.scale == 1 && !step.is_skipped;
}

void ParameterUpdates::apply(const StepUpdate& step, std::size_t copy) {
    const stage::LocalParameters& held = model_.stages().parameters();
    before_update_();
    optimizer_->update(stream_, held.values(), held.gradients(copy), step.rate, step.scale, &spared_);
    if (current_.plan.shards_optimizer) exchanges_[copy].share_values();
}

void ParameterUpdates::take_back(const StepUpdate& step, std::size_t copy) {
    optimizer_->restore(stream_, model_.stages().parameters().values());
    if (!step.is_skipped) return apply(step, copy);
    if (current_.plan.shards_optimizer) exchanges_[copy].share_values();
}

void ParameterUpdates::update_nothing() {
    finish_moments();
    norms_.post(std::array{0.0, 0.0});
    norms_.take();
}

// The value check has not seen the reduced gradients yet; the kernels of their norm read them.
void ParameterUpdates::check_gradients(kernels::ValueCheck& check) {
    stage::GradientExchange& exchange = exchanges_.front();
    exchange.finish();
    check.begin_pass(-1, -1, true);
    check.begin_layer("gradient norm");
    sum_of_squares(stream_, model_.stages().parameters().gradients(), exchange.own_shards(), *scratch_);
}

}  // namespace trireme::rank
