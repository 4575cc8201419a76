#include "train/batch_view.hpp"

namespace trireme {
namespace {

template <class T>
ConstTensor view_of(const std::vector<T>& values, std::size_t rows = 1) {
    const std::size_t columns = rows == 0 ? 0 : values.size() / rows;
    return {values.data(), dtype_of<T>(), rows, columns, columns};
}

}  // namespace

BatchView::BatchView(const Batch& batch) {
    for (const TokenSpan& span : batch.spans) {
        segments_.push_back({.begin = span.begin, .length = span.length, .sample = span.visit});
    }
    for (const std::int32_t row : batch.predicted) {
        targets_.push_back(batch.targets[static_cast<std::size_t>(row)]);
    }
    const std::size_t segments = segments_.size();
    const std::size_t patches = batch.rows() - segments;  // of images: every row but the class tokens
    view_ = {.tokens = view_of(batch.tokens),
             .positions = view_of(batch.positions),
             .types = view_of(batch.types),
             .visits = view_of(batch.visits),
             .segments = segments_,
             .predicted = view_of(batch.predicted),
             .targets = view_of(targets_),
             .answers = view_of(batch.answers, segments),
             .contexts = view_of(batch.contexts, segments),
             .pixels = view_of(batch.pixels, batch.pixels.empty() ? 0 : patches)};
}

}  // namespace trireme
