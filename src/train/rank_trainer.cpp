#include "train/rank_trainer.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "trireme/comm/collectives.hpp"
#include "trireme/device/clock.hpp"
#include "trireme/device/machine.hpp"
#include "trireme/kernels/fill.hpp"

namespace trireme {
namespace {

// The same `width` numbers of every rank, in rank order.
struct Gathered {
    std::vector<double> values;
    std::size_t width = 1;

    double sum(std::size_t field) const {
        double total = 0;
        for (std::size_t i = field; i < values.size(); i += width) total += values[i];
        return total;
    }
    std::vector<double> of_ranks(std::size_t field) const {
        std::vector<double> all;
        for (std::size_t i = field; i < values.size(); i += width) all.push_back(values[i]);
        return all;
    }
    double most(std::size_t field) const {
        double largest = values[field];
        for (std::size_t i = field; i < values.size(); i += width) largest = std::max(largest, values[i]);
        return largest;
    }
};

// What sum_of_squares() needs.
std::size_t norm_scratch_bytes(const ParameterTensors& gradients, const std::vector<ParameterShard>& shards) {
    Stream stream{.backend = GhostStream{}};
    Arena counter("norm", 0, Place::ghost);
    sum_of_squares(stream, gradients, shards, counter);
    return counter.peak();
}

}  // namespace

RankTrainer::RankTrainer(const RunConfig& config, const Setup& setup, const GradientPlan& gradients, int rank,
                         RankGroups groups, int threads)
    : config_(config),
      setup_(setup),
      stream_(make_stream(config.precision.device, threads)),
      model_(setup, gradients, rank, std::move(groups)),
      sampler_(setup.samples.train.size(), config.run.seed) {
    if (model_.is_idle()) return;
    const LocalParameters& held = model_.stages().parameters();
    exchange_.emplace(gradients, model_.rank(), held.specs(), held.values(), held.gradients(),
                      model_.groups().data, Place::memory);
    optimizer_.emplace(config.optimizer, held.specs(), updated_shards(setup, *exchange_, held.specs()),
                       setup.dtype, Place::memory);
    scratch_.emplace("norm", norm_scratch_bytes(held.gradients(), exchange_->own_shards()), Place::memory);
    model_.stages().sum_with(&*exchange_);
}

StepOutcome RankTrainer::begin_step(std::size_t step, const std::vector<SampleVisit>& visits) {
    stream_.ledger.clear();
    if (!model_.is_idle()) {
        launch(stream_, Fill{.output = model_.stages().parameters().gradients().all(), .value = 0});
    }
    StepOutcome outcome{.rate = learning_rate(config_.optimizer, step, setup_.steps)};
    outcome.size.targets = count_targets(setup_.corpus, setup_.samples.train, setup_.train_rules, visits);
    for (const SampleVisit& visit : visits) {
        const std::size_t length = setup_.samples.train[visit.sample].length;
        outcome.size.tokens += length;
        outcome.size.square_length_sum += std::pow(length, 2);
    }
    return outcome;
}

// Of those micro-batches that pass this rank; the others stay empty.
std::vector<Batch> RankTrainer::build_batches(const std::vector<SampleVisit>& visits) const {
    const PipelineShape& shape = setup_.plan.training.shape;
    const auto cut = cut_evenly(visits, static_cast<std::size_t>(shape.micro_batches));
    std::vector<Batch> batches(cut.size());
    for (std::size_t m = 0; m < cut.size(); ++m) {
        if (!model_.needs(shape, static_cast<int>(m))) continue;
        batches[m] =
            build_batch(setup_.corpus, setup_.samples.train, setup_.train_rules,
                        make_micro_batch(cut[m], setup_.samples.train, setup_.length, setup_.samples.longest));
    }
    return batches;
}

// Loss and gradients are the same bits on all ranks by now, and so is the decision to leave the update out.
void RankTrainer::update(StepOutcome& outcome, Communicator& control) {
    enum : std::size_t { loss, squares, fields };
    std::array<double, fields> own{};
    if (!model_.is_idle()) {
        exchange_->finish();
        own[loss] = model_.own_loss();
        own[squares] = sum_of_squares(stream_, model_.stages().parameters().gradients(),
                                      exchange_->own_shards(), *scratch_);
    }
    const Gathered all{gather_all(control, own), fields};
    outcome.loss = all.sum(loss) / static_cast<double>(outcome.size.targets);
    outcome.gradient_norm = std::sqrt(all.sum(squares));
    outcome.is_skipped = !std::isfinite(outcome.loss) || !std::isfinite(outcome.gradient_norm);
    if (!outcome.is_skipped && !model_.is_idle()) apply(outcome);
}

void RankTrainer::apply(const StepOutcome& outcome) {
    const LocalParameters& held = model_.stages().parameters();
    if (!setup_.plan.shards_optimizer) exchange_->share_gradients();
    optimizer_->update(stream_, held.values(), held.gradients(), outcome.rate,
                       clip_scale(outcome.gradient_norm, config_.optimizer.clip));
    if (setup_.plan.shards_optimizer) exchange_->share_values();
}

void RankTrainer::observe(StepOutcome& outcome, double begin, std::size_t own_padded_tokens,
                          Communicator& control) const {
    enum : std::size_t { seconds, compute, wait, padded_tokens, peak_bytes, fields };
    std::array<double, fields> own{};
    own[compute] = stream_.ledger.seconds();
    own[wait] = control.traffic().wait_seconds + model_.wait_seconds();
    own[padded_tokens] = static_cast<double>(own_padded_tokens);
    own[peak_bytes] = static_cast<double>(peak_resident_bytes());
    own[seconds] = now_seconds() - begin;
    const Gathered all{gather_all(control, own), fields};
    outcome.seconds = all.most(seconds);
    outcome.compute_seconds = all.sum(compute) / control.size();
    if (control.size() > 1) outcome.compute_of_ranks = all.of_ranks(compute);
    outcome.wait_seconds = all.sum(wait) / control.size();
    outcome.padded_tokens = static_cast<std::size_t>(all.sum(padded_tokens));
    outcome.peak_bytes = static_cast<std::size_t>(all.most(peak_bytes));
}

StepOutcome RankTrainer::step(std::size_t step, Communicator& control) {
    const double begin = now_seconds();
    control.reset_traffic();
    model_.reset_traffic();
    const auto visits = sampler_.visits(step * config_.run.batch, config_.run.batch);
    StepOutcome outcome = begin_step(step, visits);
    const RoundOptions options{.dropout_key = RandomKey{config_.run.seed}.then("dropout"),
                               .loss_scale = 1 / static_cast<double>(outcome.size.targets),
                               .label_smoothing = config_.task.label_smoothing,
                               .update = [&] { update(outcome, control); }};
    const RoundResult result = model_.execute(stream_, setup_.plan.training, build_batches(visits), options);
    if (model_.is_idle()) update(outcome, control);
    observe(outcome, begin, result.padded_tokens, control);
    return outcome;
}

Evaluation RankTrainer::evaluate(Communicator& control) {
    return evaluate_samples(model_, stream_, setup_, control);
}

}  // namespace trireme
