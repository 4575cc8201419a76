#include "trireme/rank/batch_view.hpp"

namespace trireme::rank {
namespace {

// Returns a view of `values` as a matrix with `rows` rows.
template <class T>
device::ConstTensor make_view(const std::vector<T>& values, std::size_t rows = 1) {
    const std::size_t columns = rows == 0 ? 0 : values.size() / rows;
    return {values.data(), device::to_dtype<T>(), rows, columns, columns};
}

}  // namespace

BatchView::BatchView(const data::Batch& batch, device::GpuUploader* uploader) {
    for (const data::TokenSpan& span : batch.spans) {
        shape_.segments.push_back({.begin = span.begin, .length = span.length, .sample = span.visit});
    }
    for (const std::int32_t row : batch.predicted_rows) {
        targets_.push_back(batch.targets[static_cast<std::size_t>(row)]);
    }
    const std::size_t segments = shape_.segments.size();
    const std::size_t patches = batch.rows() - segments;  // for images: all rows but one class token per image
    view_ = {.tokens = make_view(batch.tokens),
             .positions = make_view(batch.positions),
             .types = make_view(batch.types),
             .visits = make_view(batch.visits),
             .segments = shape_.segments,
             .predicted_rows = make_view(batch.predicted_rows),
             .targets = make_view(targets_),
             .answers = make_view(batch.answers, segments),
             .contexts = make_view(batch.contexts, segments),
             .pixels = make_view(batch.pixels, batch.pixels.empty() ? 0 : patches)};
    if (uploader == nullptr || batch.rows() == 0) return;
    stage::UploadedBatch uploaded_batch = stage::upload(view_, *uploader);
    view_ = uploaded_batch.batch;
    gpu_copy_ = std::move(uploaded_batch.memory);
}

BatchView::BatchView(const model::ModelConfig& model, stage::BatchShape shape) : shape_(std::move(shape)) {
    device::Arena inputs("input", 0, device::MemorySpace::ghost);
    view_ = make_ghost_batch(model, shape_, inputs);
}

}  // namespace trireme::rank
