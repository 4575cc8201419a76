#include <algorithm>
#include <memory>

#include "tools/profile/kernel_recorder.hpp"
#include "tools/profile/lone_layer.hpp"
#include "tools/profile/measurements.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/device/clock.hpp"
#include "trireme/kernels/fill.hpp"
#include "trireme/kernels/rows.hpp"
#include "trireme/kernels/update.hpp"

namespace trireme::tools {
namespace {

// Runs kernels on successive ranges of vectors that are as long as all parameters of a model. So the data comes
// from as far away in the memory hierarchy as in an update.
class FlatKernels {
public:
    FlatKernels(const ProfileSubject& subject, device::Stream& stream)
        : stream_(stream),
          kind_(subject.optimizer.kind),
          length_(std::clamp(parameter_count(subject.model), most_elements, longest)),
          memory_("flat kernels", vectors * (length_ * bytes_of(wide_of(subject.dtype)) + alignment),
                  stream.place()) {
        for (device::Tensor& vector : vectors_) vector = memory_.tensor(wide_of(subject.dtype), 1, length_);
        result_ = memory_.tensor(device::DType::f64, 1, 1);
    }

    void take_round() {
        for (std::size_t count = most_elements; count >= least_elements; count /= 4) take(count);
    }

private:
    static constexpr std::size_t vectors = 4;
    static constexpr std::size_t least_elements = std::size_t{1} << 8;
    static constexpr std::size_t most_elements = std::size_t{1} << 22;
    static constexpr std::size_t longest = std::size_t{1} << 25;
    static constexpr std::size_t alignment = 4096;

    void take(std::size_t count) {
        if (length_ - next_ < count) next_ = 0;
        const auto part = [&, begin = next_](std::size_t v) { return vectors_[v].column_range(begin, count); };
        next_ += count;
        launch(stream_, kernels::Fill{.output = part(1), .value = 1e-3});
        launch(stream_, kernels::Copy{.input = part(1), .output = part(0)});
        launch(stream_, kernels::SumOfSquares{.input = part(1), .result = result_});
        if (kind_ == optim::OptimizerKind::adamw) {
            launch(stream_, kernels::AdamWUpdate{.parameter = part(0),
                                                 .gradient = part(1),
                                                 .moment1 = part(2),
                                                 .moment2 = part(3),
                                                 .rate = 1e-3});
        } else {
            launch(stream_, kernels::SgdUpdate{.parameter = part(0),
                                               .gradient = part(1),
                                               .velocity = part(2),
                                               .rate = 1e-3,
                                               .momentum = 0.9});
        }
    }

    device::Stream& stream_;
    optim::OptimizerKind kind_;
    std::size_t length_;
    std::size_t next_ = 0;  // the first element not yet used in this pass over the vectors
    device::Arena memory_;
    device::Tensor vectors_[vectors];
    device::Tensor result_;
};

bool can_be_shared(const model::ModelConfig& model) { return model.key_groups() > 1; }

std::vector<model::TensorPart> parts_of(const model::ModelConfig& model) {
    std::vector<model::TensorPart> parts{{}};
    if (can_be_shared(model)) parts.push_back({.rank = 0, .shares = {1, 1}});
    return parts;
}

// Equal layers: as many as the model has, but no more once they hold `most_bytes`. As in a step, other layers
// run between two uses of a layer's data, so it comes from as far away in the memory hierarchy.
class LayerRow {
public:
    LayerRow(const LoneLayerSpec& spec, device::Stream& stream) {
        const std::vector<model::Layer> layers = build_layers(spec.model);
        const std::vector<std::size_t> first = first_equals(layers);
        const auto alike = static_cast<std::size_t>(std::ranges::count(first, first[spec.layer]));
        std::size_t bytes = 0;
        do {
            row_.push_back(std::make_unique<LoneLayer>(spec, stream));
            bytes += row_.back()->bytes();
        } while (row_.size() < alike && bytes < most_bytes);
    }

    std::size_t size() const { return row_.size(); }

    void take_round() {
        for (const auto& layer : row_) layer->forward();
        for (std::size_t l = row_.size(); l-- > 0;) row_[l]->backward();
        for (const auto& layer : row_) layer->update();
    }

private:
    static constexpr std::size_t most_bytes = std::size_t{512} << 20;

    std::vector<std::unique_ptr<LoneLayer>> row_;
};

LoneLayerSpec spec_of(const ProfileSubject& subject, const model::TokenBatch& batch, std::size_t layer) {
    return {.model = subject.model,
            .layer = layer,
            .batch = batch,
            .dtype = subject.dtype,
            .optimizer = subject.optimizer};
}

// Runs one warm-up round, then records `rounds` rounds.
template <class Round>
void record_rounds(KernelRecorder& recorder, std::size_t rounds, const Round& take_round) {
    take_round();
    recorder.record();
    for (std::size_t r = 0; r < rounds; ++r) take_round();
    recorder.pause();
}

// Returns the number of rounds for at least `repeats` measurements; a round measures each
// of `alike` layers once.
std::size_t rounds_for(std::size_t repeats, std::size_t alike) { return (repeats + alike - 1) / alike; }

}  // namespace

std::vector<BatchSize> sizes_of_profile() {
    return {{.length = 0.25}, {.length = 0.5}, {.length = 1}, {.length = 1, .copies = 2}};
}

std::size_t count_kernel_walks(const model::ModelConfig& model) {
    return sizes_of_profile().size() * parts_of(model).size();
}

std::vector<plan::KernelProfile> measure_layer_kernels(const ProfileSubject& subject, const KernelGrid& grid,
                                                       std::size_t repeats) {
    device::Stream stream = subject.stream;
    KernelRecorder recorder(stream);
    const auto walk = [&](const model::TokenBatch& batch, const model::TensorPart& part, std::size_t l) {
        LoneLayerSpec spec = spec_of(subject, batch, l);
        spec.part = part;
        LayerRow row(spec, stream);
        record_rounds(recorder, rounds_for(repeats, row.size()), [&] { row.take_round(); });
        subject.note_measurement();
    };
    for (const BatchSize& size : grid.sizes) {
        const ResizedBatch batch(subject.batch, size);
        for (const model::TensorPart& part : parts_of(subject.model)) {
            for (const std::size_t l : grid.layers) walk(batch.view(), part, l);
        }
    }
    return recorder.medians();
}

std::vector<plan::KernelProfile> measure_flat_kernels(const ProfileSubject& subject, std::size_t repeats) {
    device::Stream stream = subject.stream;
    FlatKernels kernels(subject, stream);
    KernelRecorder recorder(stream);
    record_rounds(recorder, repeats, [&] { kernels.take_round(); });
    return recorder.medians();
}

double measure_launch(const ProfileSubject& subject, const std::vector<std::size_t>& layers,
                      std::size_t repeats) {
    device::Stream stream = subject.stream;
    std::vector<double> seconds;  // overhead per kernel
    for (const std::size_t l : layers) {
        LayerRow row(spec_of(subject, subject.batch, l), stream);
        row.take_round();
        for (std::size_t r = 0; r < repeats; ++r) {
            stream.ledger.clear();
            const double begin = device::now_seconds();
            row.take_round();
            stream.settle();
            const double outside = device::now_seconds() - begin - stream.ledger.seconds();
            std::size_t calls = 0;
            for (const device::Ledger::Entry& entry : stream.ledger.entries()) calls += entry.calls;
            seconds.push_back(outside / static_cast<double>(calls));
        }
        subject.note_measurement();
    }
    return std::max(0.0, median_of(seconds));
}

}  // namespace trireme::tools
