#include "trireme/rank/batch_view.hpp"

namespace trireme::rank {
namespace {

template <class T>
device::ConstTensor view_of(const std::vector<T>& values, std::size_t rows = 1) {
    const std::size_t columns = rows == 0 ? 0 : values.size() / rows;
    return {values.data(), device::dtype_of<T>(), rows, columns, columns};
}

}  // namespace

stage::BatchShape shape_of(const plan::Microbatch& microbatch, const std::vector<data::Sample>& samples) {
    stage::BatchShape shape;
    for (const plan::SampleVisit& visit : microbatch.samples) {
        const bool is_packed = microbatch.padded_length == 0;
        const std::size_t length = is_packed ? samples[visit.sample].length : microbatch.padded_length;
        shape.segments.push_back({.begin = shape.rows, .length = length});
        shape.rows += length;
    }
    return shape;
}

BatchView::BatchView(const data::Batch& batch, device::ByteSender* sender) {
    for (const data::TokenSpan& span : batch.spans) {
        shape_.segments.push_back({.begin = span.begin, .length = span.length, .sample = span.visit});
    }
    for (const std::int32_t row : batch.predicted) {
        targets_.push_back(batch.targets[static_cast<std::size_t>(row)]);
    }
    const std::size_t segments = shape_.segments.size();
    const std::size_t patches = batch.rows() - segments;  // for images: all rows except the class tokens
    view_ = {.tokens = view_of(batch.tokens),
             .positions = view_of(batch.positions),
             .types = view_of(batch.types),
             .visits = view_of(batch.visits),
             .segments = shape_.segments,
             .predicted = view_of(batch.predicted),
             .targets = view_of(targets_),
             .answers = view_of(batch.answers, segments),
             .contexts = view_of(batch.contexts, segments),
             .pixels = view_of(batch.pixels, batch.pixels.empty() ? 0 : patches)};
    if (sender == nullptr || batch.rows() == 0) return;
    stage::SentBatch sent = stage::send(view_, *sender);
    view_ = sent.batch;
    on_gpu_ = std::move(sent.memory);
}

BatchView::BatchView(const model::ModelConfig& model, stage::BatchShape shape) : shape_(std::move(shape)) {
    device::Arena inputs("input", 0, device::MemorySpace::ghost);
    view_ = ghost_batch(model, shape_, inputs);
}

}  // namespace trireme::rank
