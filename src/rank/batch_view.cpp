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

std::size_t count_targets(const setup::Job& job, const std::vector<plan::SampleVisit>& visits) {
    if (job.corpus) return count_targets(*job.corpus, job.samples.train, job.train_rules, visits);
    std::size_t rows = 0;
    for (const plan::SampleVisit& visit : visits) rows += job.samples.train[visit.sample].length;
    return rows;
}

stage::BatchShape make_batch_shape(const setup::Job& job, const plan::Microbatch& microbatch) {
    stage::BatchShape shape;
    for (const plan::SampleVisit& visit : microbatch.samples) {
        const bool is_packed = microbatch.padded_length == 0;
        const std::size_t length = job.samples.train[visit.sample].length;
        shape.segments.push_back({.begin = shape.rows, .length = length});
        shape.rows += is_packed ? length : microbatch.padded_length;
    }
    const bool predicts_answers = job.corpus && job.model.task == Task::span;  // targets are answers, not rows
    shape.predicted_rows = predicts_answers ? 0 : count_targets(job, microbatch.samples);
    return shape;
}

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
