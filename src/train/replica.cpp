#include "train/replica.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "train/batch_view.hpp"
#include "trireme/comm/collectives.hpp"
#include "trireme/device/clock.hpp"
#include "trireme/device/machine.hpp"
#include "trireme/kernels/fill.hpp"

namespace trireme {
namespace {

// Gradients are summed over the replicas in buckets of this many elements, which bounds what is in flight.
constexpr std::size_t bucket_elements = std::size_t{4} << 20;

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

Stream make_stream(DeviceKind device, int threads) {
    switch (device) {
        case DeviceKind::reference:
            return {.backend = ReferenceStream{}};
        case DeviceKind::cpu:
            return {.backend = CpuStream{.threads = threads}};
    }
    throw BugError("unknown device");
}

std::size_t MemoryPlan::total() const {
    return stage.parameters + stage.gradients + stage.activations + stage.scratch + optimizer + communication;
}

MemoryPlan plan_memory(const Setup& setup, const OptimizerConfig& optimizer, const Communicator& data_group) {
    const std::vector<ParameterSpec> specs = unique_parameters(build_layers(setup.model));
    const std::size_t elements = ParameterTensors(specs, setup.dtype, Place::ghost).all().columns;
    const std::size_t largest = std::min(bucket_elements, elements);
    const ConstTensor bucket{nullptr, setup.dtype, 1, largest, largest};
    return {.stage = predicted_memory(setup),
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
    if (setup.stored) load(*setup.stored, stage_.parameters(), stage_.values());
}

StepOutcome Replica::begin_step(std::size_t step, const std::vector<SampleVisit>& visits) {
    stream_.ledger.clear();
    launch(stream_, Fill{.output = stage_.gradients().all(), .value = 0});
    StepOutcome outcome{.rate = learning_rate(config_.optimizer, step, setup_.steps)};
    outcome.size.targets = count_targets(setup_.corpus, setup_.samples.train, setup_.train_rules, visits);
    for (const SampleVisit& visit : visits) {
        const std::size_t length = setup_.samples.train[visit.sample].length;
        outcome.size.tokens += length;
        outcome.size.square_length_sum += std::pow(length, 2);
    }
    return outcome;
}

Replica::Work Replica::forward_backward(const std::vector<SampleVisit>& visits, double loss_scale,
                                        const Communicator& data_group) {
    const std::span<const Sample> samples = setup_.samples.train;
    const auto cut = cut_evenly(visits, setup_.replicas * setup_.micro_batches);
    const auto first = static_cast<std::size_t>(data_group.rank()) * setup_.micro_batches;
    const PassOptions options{.dropout_key = RandomKey{config_.run.seed}.then("dropout"),
                              .loss_scale = loss_scale,
                              .label_smoothing = config_.task.label_smoothing};
    Work work;
    for (std::size_t m = first; m < first + setup_.micro_batches; ++m) {
        const Batch batch =
            build_batch(setup_.corpus, samples, setup_.train_rules,
                        make_micro_batch(cut[m], samples, setup_.length, setup_.samples.longest));
        work.loss_sum += stage_.forward_backward(stream_, BatchView(batch).tokens(), options);
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
    const auto targets = static_cast<double>(outcome.size.targets);
    const Work work = forward_backward(visits, 1 / targets, data_group);
    sum_gradients(data_group);
    outcome.loss = Gathered{gather_all(data_group, std::array{work.loss_sum}), 1}.sum(0) / targets;
    update(outcome);
    observe(outcome, begin, work, data_group);
    return outcome;
}

Evaluation Replica::evaluate(Communicator& data_group) {
    return evaluate_samples(stage_, stream_, setup_, data_group);
}

void Replica::save(CheckpointWriter& writer) const {
    const StoredType type = setup_.dtype == DType::f64 ? StoredType::f64 : StoredType::f32;
    for (std::size_t i = 0; i < stage_.parameters().size(); ++i) {
        writer.add(stage_.parameters()[i], stage_.values()[i], type);
    }
}

}  // namespace trireme
