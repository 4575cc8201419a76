#include "train/replica.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "trireme/comm/collectives.hpp"
#include "trireme/data/batch.hpp"
#include "trireme/device/clock.hpp"
#include "trireme/device/machine.hpp"
#include "trireme/kernels/fill.hpp"

namespace trireme {
namespace {

// Gradients are summed over the replicas in buckets of this many elements, which bounds what is in flight.
constexpr std::size_t bucket_elements = std::size_t{4} << 20;

template <class T>
ConstTensor view_of(const std::vector<T>& values) {
    return {values.data(), dtype_of<T>(), 1, values.size(), values.size()};
}

// A batch as the model reads it. Points into `batch` and `segments`.
TokenBatch view_batch(const Batch& batch, std::vector<Segment>& segments) {
    for (const TokenSpan& span : batch.spans) {
        segments.push_back({.begin = span.begin, .length = span.length, .sample = span.visit});
    }
    return {.tokens = view_of(batch.tokens),
            .targets = view_of(batch.targets),
            .positions = view_of(batch.positions),
            .visits = view_of(batch.visits),
            .segments = segments};
}

Stream make_stream(DeviceKind device, int threads) {
    switch (device) {
        case DeviceKind::reference:
            return {.backend = ReferenceStream{}};
        case DeviceKind::cpu:
            return {.backend = CpuStream{.threads = threads}};
    }
    throw BugError("unknown device");
}

// The same `width` numbers of every rank, in rank order.
struct Gathered {
    std::vector<double> values;
    std::size_t width = 1;

    double sum(std::size_t field) const {
        double total = 0;
        for (std::size_t i = field; i < values.size(); i += width) total += values[i];
        return total;
    }
    double most(std::size_t field) const {
        double largest = values[field];
        for (std::size_t i = field; i < values.size(); i += width) largest = std::max(largest, values[i]);
        return largest;
    }
};

}  // namespace

std::size_t MemoryPlan::total() const {
    return stage.parameters + stage.gradients + stage.activations + stage.scratch + optimizer + communication;
}

MemoryPlan plan_memory(const Setup& setup, const OptimizerConfig& optimizer, const Communicator& data_group) {
    const std::vector<ParameterSpec> specs = unique_parameters(build_layers(setup.model));
    const std::size_t elements = ParameterTensors(specs, setup.dtype, Place::ghost).all().columns;
    const std::size_t largest = std::min(bucket_elements, elements);
    const ConstTensor bucket{nullptr, setup.dtype, 1, largest, largest};
    return {.stage = predict(setup.model, setup.dtype, setup.largest),
            .optimizer = Optimizer(optimizer, specs, setup.dtype, Place::ghost).bytes(),
            .communication = sum_scratch_bytes(data_group, bucket)};
}

struct Replica::Work {
    double loss_sum = 0;
    std::size_t padded_tokens = 0;
};

Replica::Replica(const RunConfig& config, const Setup& setup, const MemoryPlan& memory, int threads)
    : config_(config),
      setup_(setup),
      stream_(make_stream(config.precision.device, threads)),
      stage_(setup.model, setup.dtype, Place::memory, memory.stage),
      optimizer_(config.optimizer, stage_.parameters(), setup.dtype, Place::memory),
      sampler_(setup.samples.train.size(), config.run.seed),
      communication_("communication", memory.communication, Place::memory) {
    initialise(stream_, stage_.parameters(), stage_.values(), config.run.seed);
}

MicroBatch Replica::padded(std::vector<SampleVisit> visits, std::span<const Sample> samples) const {
    return make_micro_batch(std::move(visits), samples, config_.schedule.length, setup_.samples.longest);
}

StepOutcome Replica::begin_step(std::size_t step, const std::vector<SampleVisit>& visits) {
    stream_.ledger.clear();
    launch(stream_, Fill{.output = stage_.gradients().all(), .value = 0});
    StepOutcome outcome{.rate = learning_rate(config_.optimizer, step, setup_.steps),
                        .tokens = count_targets(visits, setup_.samples.train)};
    for (const SampleVisit& visit : visits) {
        outcome.square_length_sum += std::pow(setup_.samples.train[visit.sample].length, 2);
    }
    return outcome;
}

Replica::Work Replica::forward_backward(const std::vector<SampleVisit>& visits, double loss_scale,
                                        const Communicator& data_group) {
    const std::span<const Sample> samples = setup_.samples.train;
    const auto cut = cut_evenly(visits, setup_.replicas * setup_.micro_batches);
    const auto first = static_cast<std::size_t>(data_group.rank()) * setup_.micro_batches;
    const RandomKey dropout_key = RandomKey{config_.run.seed}.then("dropout");
    Work work;
    for (std::size_t m = first; m < first + setup_.micro_batches; ++m) {
        const Batch batch = build_batch(setup_.corpus, samples, padded(cut[m], samples));
        std::vector<Segment> segments;
        work.loss_sum += stage_.forward_backward(stream_, view_batch(batch, segments), dropout_key, loss_scale);
        work.padded_tokens += batch.rows();
    }
    return work;
}

void Replica::sum_gradients(Communicator& data_group) {
    const Tensor all = stage_.gradients().all();
    for (std::size_t begin = 0; begin < all.columns; begin += bucket_elements) {
        const std::size_t count = std::min(bucket_elements, all.columns - begin);
        sum_in_rank_order(data_group, all.column_range(begin, count), communication_);
    }
}

// Loss and gradients are the same bits on all ranks by now, and so is the decision to leave the update out.
void Replica::update(StepOutcome& outcome) {
    outcome.gradient_norm = optimizer_.gradient_norm(stream_, stage_.gradients());
    outcome.is_skipped = !std::isfinite(outcome.loss) || !std::isfinite(outcome.gradient_norm);
    if (outcome.is_skipped) return;
    optimizer_.update(stream_, stage_.values(), stage_.gradients(), outcome.rate,
                      clip_scale(outcome.gradient_norm, config_.optimizer.clip));
}

void Replica::observe(StepOutcome& outcome, double begin, const Work& work, Communicator& data_group) const {
    enum : std::size_t { seconds, compute, wait, padded_tokens, peak_bytes, fields };
    std::array<double, fields> own{};
    own[compute] = stream_.ledger.seconds();
    own[wait] = data_group.traffic().wait_seconds;
    own[padded_tokens] = static_cast<double>(work.padded_tokens);
    own[peak_bytes] = static_cast<double>(peak_resident_bytes());
    own[seconds] = now_seconds() - begin;
    const Gathered all{gather_all(data_group, own), fields};
    outcome.seconds = all.most(seconds);
    outcome.compute_seconds = all.sum(compute) / data_group.size();
    outcome.wait_seconds = all.sum(wait) / data_group.size();
    outcome.padded_tokens = static_cast<std::size_t>(all.sum(padded_tokens));
    outcome.peak_bytes = static_cast<std::size_t>(all.most(peak_bytes));
}

StepOutcome Replica::step(std::size_t step, Communicator& data_group) {
    const double begin = now_seconds();
    data_group.reset_traffic();
    const auto visits = sampler_.visits(step * config_.run.batch, config_.run.batch);
    StepOutcome outcome = begin_step(step, visits);
    const auto targets = static_cast<double>(outcome.tokens);
    const Work work = forward_backward(visits, 1 / targets, data_group);
    sum_gradients(data_group);
    outcome.loss = Gathered{gather_all(data_group, std::array{work.loss_sum}), 1}.sum(0) / targets;
    update(outcome);
    observe(outcome, begin, work, data_group);
    return outcome;
}

double Replica::evaluate(Communicator& data_group) {
    const std::span<const Sample> samples = setup_.samples.validation;
    std::vector<SampleVisit> visits(samples.size());
    for (std::size_t s = 0; s < samples.size(); ++s) visits[s].sample = s;
    const std::size_t parts = (visits.size() + setup_.micro_batch_samples - 1) / setup_.micro_batch_samples;
    const auto cut = cut_evenly(visits, parts);
    double loss_sum = 0;
    for (auto m = static_cast<std::size_t>(data_group.rank()); m < parts; m += setup_.replicas) {
        const Batch batch = build_batch(setup_.corpus, samples, padded(cut[m], samples));
        std::vector<Segment> segments;
        loss_sum += stage_.evaluate(stream_, view_batch(batch, segments));
    }
    const Gathered losses{gather_all(data_group, std::array{loss_sum}), 1};
    return losses.sum(0) / static_cast<double>(count_targets(visits, samples));
}

}  // namespace trireme
