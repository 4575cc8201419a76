#include "replica.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "trireme/comm/collectives.hpp"
#include "trireme/data/batch.hpp"
#include "trireme/device/clock.hpp"
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

// Column c of rows of `width` values, one row for each rank: its sum, in rank order.
double column_sum(const std::vector<double>& gathered, std::size_t width, std::size_t c) {
    double sum = 0;
    for (std::size_t i = c; i < gathered.size(); i += width) sum += gathered[i];
    return sum;
}

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

Replica::Work Replica::forward_backward(std::size_t step, const Communicator& data_group) {
    const std::span<const Sample> samples = setup_.samples.train;
    const auto visits = sampler_.visits(step * config_.run.batch, config_.run.batch);
    const double loss_scale = 1 / static_cast<double>(count_targets(visits, samples));
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

StepOutcome Replica::step(std::size_t step, Communicator& data_group) {
    const double begin = now_seconds();
    stream_.ledger.clear();
    data_group.reset_traffic();
    const auto visits = sampler_.visits(step * config_.run.batch, config_.run.batch);
    StepOutcome outcome{.rate = learning_rate(config_.optimizer, step, setup_.steps),
                        .tokens = count_targets(visits, setup_.samples.train)};
    for (const SampleVisit& visit : visits) {
        outcome.square_length_sum += std::pow(setup_.samples.train[visit.sample].length, 2);
    }

    launch(stream_, Fill{.output = stage_.gradients().all(), .value = 0});
    const Work work = forward_backward(step, data_group);
    sum_gradients(data_group);
    outcome.gradient_norm = optimizer_.gradient_norm(stream_, stage_.gradients());
    const std::vector<double> losses = gather_all(data_group, std::array{work.loss_sum});
    outcome.loss = column_sum(losses, 1, 0) / static_cast<double>(outcome.tokens);

    outcome.is_skipped = !std::isfinite(outcome.loss) || !std::isfinite(outcome.gradient_norm);
    if (!outcome.is_skipped) {
        optimizer_.update(stream_, stage_.values(), stage_.gradients(), outcome.rate,
                          clip_scale(outcome.gradient_norm, config_.optimizer.clip));
    }
    outcome.seconds = now_seconds() - begin;
    const std::array own{stream_.ledger.seconds(), data_group.traffic().wait_seconds,
                         static_cast<double>(work.padded_tokens)};
    const std::vector<double> observed = gather_all(data_group, own);
    outcome.compute_seconds = column_sum(observed, own.size(), 0) / data_group.size();
    outcome.wait_seconds = column_sum(observed, own.size(), 1) / data_group.size();
    outcome.padded_tokens = static_cast<std::size_t>(column_sum(observed, own.size(), 2));
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
    const std::vector<double> losses = gather_all(data_group, std::array{loss_sum});
    return column_sum(losses, 1, 0) / static_cast<double>(count_targets(visits, samples));
}

}  // namespace trireme
