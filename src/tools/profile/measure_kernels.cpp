#include <algorithm>
#include <memory>

#include "tools/profile/isolated_layer.hpp"
#include "tools/profile/kernel_recorder.hpp"
#include "tools/profile/measurements.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/device/clock.hpp"
#include "trireme/kernels/fill.hpp"
#include "trireme/kernels/rows.hpp"
#include "trireme/kernels/update.hpp"

namespace trireme::tools {
namespace {

// Runs elementwise kernels on successive ranges of vectors. A vector has one element per parameter of the
// model, but at least max_elements and at most max_length elements. Thus kernels read the data from the same
// level of the memory hierarchy as in an update.
class ElementwiseKernels {
public:
    ElementwiseKernels(const ProfileSubject& subject, device::Stream& stream)
        : stream_(stream),
          kind_(subject.optimizer.kind),
          length_(std::clamp(count_parameters(subject.model), max_elements, max_length)),
          memory_("elementwise kernels",
                  vector_count * (length_ * byte_size(accumulator_type(subject.dtype)) + alignment),
                  stream.memory_space()) {
        for (device::Tensor& vector : vectors_)
            vector = memory_.tensor(accumulator_type(subject.dtype), 1, length_);
        result_ = memory_.tensor(device::DType::f64, 1, 1);
    }

    // Runs the kernels on ranges of several sizes.
    void run_round() {
        for (std::size_t count = max_elements; count >= min_elements; count /= 4) run_kernels(count);
    }

private:
    static constexpr std::size_t vector_count = 4;
    static constexpr std::size_t min_elements = std::size_t{1} << 8;   // per range
    static constexpr std::size_t max_elements = std::size_t{1} << 22;  // per range
    static constexpr std::size_t max_length = std::size_t{1} << 25;    // elements per vector
    static constexpr std::size_t alignment = 4096;  // spare bytes per vector, for alignment and result_

    void run_kernels(std::size_t count) {
        if (length_ - next_ < count) next_ = 0;
        const auto select_range = [&, begin = next_](std::size_t vector) {
            return vectors_[vector].column_range(begin, count);
        };
        next_ += count;
        launch(stream_, kernels::Fill{.output = select_range(1), .value = 1e-3});
        launch(stream_, kernels::Copy{.input = select_range(1), .output = select_range(0)});
        launch(stream_, kernels::SumOfSquares{.input = select_range(1), .result = result_});
        if (kind_ == optim::OptimizerKind::adamw) {
            launch(stream_, kernels::AdamWUpdate{.parameter = select_range(0),
                                                 .gradient = select_range(1),
                                                 .moment1 = select_range(2),
                                                 .moment2 = select_range(3),
                                                 .rate = 1e-3});
        } else {
            launch(stream_, kernels::SgdUpdate{.parameter = select_range(0),
                                               .gradient = select_range(1),
                                               .velocity = select_range(2),
                                               .rate = 1e-3,
                                               .momentum = 0.9});
        }
    }

    device::Stream& stream_;
    optim::OptimizerKind kind_;
    std::size_t length_;    // elements per vector
    std::size_t next_ = 0;  // first element of the next range
    device::Arena memory_;
    device::Tensor vectors_[vector_count];
    device::Tensor result_;
};

// Returns true if two ranks of a tensor group can share a layer. Query heads with the same key head stay
// on the same rank.
bool can_divide_width(const model::ModelConfig& model) { return model.key_value_heads() > 1; }

// Returns the parts of a layer to measure: the whole layer and, if layers can be divided, the half that one of
// two ranks holds.
std::vector<model::TensorPart> list_tensor_parts(const model::ModelConfig& model) {
    std::vector<model::TensorPart> parts{{}};
    if (can_divide_width(model)) parts.push_back({.rank = 0, .shares = {1, 1}});
    return parts;
}

// Copies of one layer. Each layer of the model that has the same costs gets a copy, until the copies hold
// `max_bytes` together. The copies run one after another, as the layers do in a step. Thus the other copies
// usually displace the data of a copy from the caches before that copy runs again.
class EqualLayers {
public:
    EqualLayers(const IsolatedLayerSpec& spec, device::Stream& stream) {
        const std::vector<model::Layer> layers = build_layers(spec.model);
        const std::vector<std::size_t> first_equals = find_first_equals(layers);
        const auto equal_count =
            static_cast<std::size_t>(std::ranges::count(first_equals, first_equals[spec.layer]));
        std::size_t bytes = 0;
        do {
            layers_.push_back(std::make_unique<IsolatedLayer>(spec, stream));
            bytes += layers_.back()->bytes();
        } while (layers_.size() < equal_count && bytes < max_bytes);
    }

    std::size_t size() const { return layers_.size(); }

    // Runs a step: all forward passes, all backward passes in reverse order, and all updates.
    void run_round() {
        for (const auto& layer : layers_) layer->forward();
        for (std::size_t l = layers_.size(); l-- > 0;) layers_[l]->backward();
        for (const auto& layer : layers_) layer->update();
    }

private:
    static constexpr std::size_t max_bytes = std::size_t{512} << 20;

    std::vector<std::unique_ptr<IsolatedLayer>> layers_;
};

IsolatedLayerSpec make_spec(const ProfileSubject& subject, const model::TokenBatch& batch, std::size_t layer) {
    return {.model = subject.model,
            .layer = layer,
            .batch = batch,
            .dtype = subject.dtype,
            .optimizer = subject.optimizer};
}

// Runs one warm-up round, then records `rounds` rounds.
template <class Round>
void record_rounds(KernelRecorder& recorder, std::size_t rounds, const Round& run_round) {
    run_round();
    recorder.record();
    for (std::size_t r = 0; r < rounds; ++r) run_round();
    recorder.pause();
}

// Returns the number of rounds for at least `repeats` measurements. A round measures each of `equal_count`
// equal layers once, which makes `equal_count` measurements.
std::size_t count_rounds(std::size_t repeats, std::size_t equal_count) {
    return (repeats + equal_count - 1) / equal_count;
}

}  // namespace

std::vector<BatchSize> list_profile_batch_sizes() {
    return {{.length = 0.25}, {.length = 0.5}, {.length = 1}, {.length = 1, .copies = 2}};
}

std::size_t count_kernel_measurements(const model::ModelConfig& model) {
    return list_profile_batch_sizes().size() * list_tensor_parts(model).size();
}

std::vector<plan::KernelProfile> measure_layer_kernels(const ProfileSubject& subject, const KernelGrid& grid,
                                                       std::size_t repeats) {
    device::Stream stream = subject.stream;
    KernelRecorder recorder(stream);
    const auto measure_layer = [&](const model::TokenBatch& batch, const model::TensorPart& part,
                                   std::size_t layer) {
        IsolatedLayerSpec spec = make_spec(subject, batch, layer);
        spec.part = part;
        EqualLayers equal_layers(spec, stream);
        record_rounds(recorder, count_rounds(repeats, equal_layers.size()), [&] { equal_layers.run_round(); });
        subject.count_measurement();
    };
    for (const BatchSize& size : grid.sizes) {
        const ResizedBatch batch(subject.batch, size);
        for (const model::TensorPart& part : list_tensor_parts(subject.model)) {
            for (const std::size_t layer : grid.layers) measure_layer(batch.view(), part, layer);
        }
    }
    return recorder.compute_medians();
}

std::vector<plan::KernelProfile> measure_elementwise_kernels(const ProfileSubject& subject,
                                                             std::size_t repeats) {
    device::Stream stream = subject.stream;
    ElementwiseKernels kernels(subject, stream);
    KernelRecorder recorder(stream);
    record_rounds(recorder, repeats, [&] { kernels.run_round(); });
    return recorder.compute_medians();
}

double measure_launch_overhead(const ProfileSubject& subject, const std::vector<std::size_t>& layers,
                               std::size_t repeats) {
    device::Stream stream = subject.stream;
    std::vector<double> overhead_seconds;  // per kernel call; one value per layer and round
    for (const std::size_t layer : layers) {
        EqualLayers equal_layers(make_spec(subject, subject.batch, layer), stream);
        equal_layers.run_round();
        for (std::size_t r = 0; r < repeats; ++r) {
            stream.ledger.clear();
            const double begin = device::now_seconds();
            equal_layers.run_round();
            stream.synchronize();
            const double seconds_outside_kernels = device::now_seconds() - begin - stream.ledger.seconds();
            std::size_t calls = 0;
            for (const device::Ledger::Entry& entry : stream.ledger.entries()) calls += entry.calls;
            overhead_seconds.push_back(seconds_outside_kernels / static_cast<double>(calls));
        }
        subject.count_measurement();
    }
    return std::max(0.0, compute_median(overhead_seconds));
}

}  // namespace trireme::tools
