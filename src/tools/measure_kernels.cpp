#include "tools/measure_kernels.hpp"

#include "tools/kernel_recorder.hpp"
#include "tools/lone_layer.hpp"
#include "trireme/kernels/fill.hpp"
#include "trireme/kernels/rows.hpp"
#include "trireme/kernels/update.hpp"

namespace trireme {
namespace {

// Vectors of one length, one after the other, so that each of them comes from as far away as an update's does.
class FlatKernels {
public:
    FlatKernels(Stream& stream, DType dtype, OptimizerKind kind)
        : stream_(stream),
          kind_(kind),
          memory_("flat kernels", vectors * most_elements * bytes_of(dtype) + room_for_result, Place::memory) {
        for (Tensor& vector : vectors_) vector = memory_.tensor(dtype, 1, most_elements);
        result_ = memory_.tensor(DType::f64, 1, 1);
    }

    void take_round() {
        for (std::size_t count = most_elements; count >= least_elements; count /= 4) take(count);
    }

private:
    static constexpr std::size_t vectors = 4;
    static constexpr std::size_t least_elements = std::size_t{1} << 8;
    static constexpr std::size_t most_elements = std::size_t{1} << 22;
    static constexpr std::size_t room_for_result = 4096;

    void take(std::size_t count) {
        const auto part = [&](std::size_t v) { return vectors_[v].column_range(0, count); };
        launch(stream_, Fill{.output = part(1), .value = 1e-3});
        launch(stream_, Copy{.input = part(1), .output = part(0)});
        launch(stream_, SumOfSquares{.input = part(1), .result = result_});
        if (kind_ == OptimizerKind::adamw) {
            launch(stream_, AdamWUpdate{.parameter = part(0),
                                        .gradient = part(1),
                                        .moment1 = part(2),
                                        .moment2 = part(3),
                                        .rate = 1e-3});
        } else {
            launch(stream_, SgdUpdate{.parameter = part(0),
                                      .gradient = part(1),
                                      .velocity = part(2),
                                      .rate = 1e-3,
                                      .momentum = 0.9});
        }
    }

    Stream& stream_;
    OptimizerKind kind_;
    Arena memory_;
    Tensor vectors_[vectors];
    Tensor result_;
};

bool can_be_shared(const ModelConfig& model) { return model.key_groups() > 1; }

std::vector<TensorPart> parts_of(const ModelConfig& model) {
    std::vector<TensorPart> parts{{}};
    if (can_be_shared(model)) parts.push_back({.rank = 0, .shares = {1, 1}});
    return parts;
}

void take_round(LoneLayer& layer) {
    layer.forward();
    layer.backward();
    layer.update();
}

// And one for warming up before them.
template <class Round>
void record_rounds(KernelRecorder& recorder, std::size_t repeats, const Round& take_round) {
    take_round();
    recorder.record();
    for (std::size_t r = 0; r < repeats; ++r) take_round();
    recorder.pause();
}

}  // namespace

std::vector<BatchSize> sizes_of_profile() {
    return {{.length = 0.25}, {.length = 0.5}, {.length = 1}, {.length = 1, .copies = 2}};
}

std::vector<KernelProfile> measure_layer_kernels(const ProfileSubject& subject, const KernelGrid& grid,
                                                 std::size_t repeats) {
    Stream stream = subject.stream;
    KernelRecorder recorder(stream);
    const auto walk = [&](const TokenBatch& batch, const TensorPart& part, std::size_t l) {
        LoneLayer layer({.model = subject.model,
                         .layer = l,
                         .batch = batch,
                         .dtype = subject.dtype,
                         .optimizer = subject.optimizer,
                         .part = part},
                        stream);
        record_rounds(recorder, repeats, [&] { take_round(layer); });
    };
    for (const BatchSize& size : grid.sizes) {
        const ResizedBatch batch(subject.batch, size);
        for (const TensorPart& part : parts_of(subject.model)) {
            for (const std::size_t l : grid.layers) walk(batch.view(), part, l);
        }
    }
    return recorder.medians();
}

std::vector<KernelProfile> measure_flat_kernels(const ProfileSubject& subject, std::size_t repeats) {
    Stream stream = subject.stream;
    FlatKernels kernels(stream, subject.dtype, subject.optimizer.kind);
    KernelRecorder recorder(stream);
    record_rounds(recorder, repeats, [&] { kernels.take_round(); });
    return recorder.medians();
}

}  // namespace trireme
