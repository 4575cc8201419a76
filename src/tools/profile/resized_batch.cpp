#include "tools/profile/resized_batch.hpp"

#include <algorithm>
#include <cmath>

namespace trireme::tools {
namespace {

// Appends the elements of `from` in `range` to `to`. No-op if `from` is absent.
template <class T>
void append(std::vector<T>& to, device::ConstTensor from, layout::Range range) {
    if (!from.is_present()) return;
    const T* const first = from.as<T>().data + range.begin;
    to.insert(to.end(), first, first + range.count);
}

// Returns a view of `values` with `rows` rows. The view is an absent tensor if `values` is empty.
template <class T>
device::ConstTensor make_view(const std::vector<T>& values, std::size_t rows = 1) {
    if (values.empty()) return {};
    const std::size_t columns = values.size() / rows;
    return {values.data(), device::to_dtype<T>(), rows, columns, columns};
}

}  // namespace

ResizedBatch::ResizedBatch(const model::TokenBatch& batch, const BatchSize& size)
    : pixel_columns_(batch.pixels.columns) {
    for (std::size_t copy = 0; copy < size.copies; ++copy) {
        for (std::size_t s = 0; s < batch.segments.size(); ++s) {
            const std::size_t full_length = batch.segments[s].length;
            const auto cut_length =
                static_cast<std::size_t>(std::lround(static_cast<double>(full_length) * size.length));
            add_sample(batch, s,
                       batch.pixels.is_present() ? full_length : std::max<std::size_t>(1, cut_length));
        }
    }
}

void ResizedBatch::add_sample(const model::TokenBatch& batch, std::size_t segment, std::size_t length) {
    const kernels::Segment& whole = batch.segments[segment];
    const kernels::Segment kept_rows{.begin = whole.begin, .length = length, .sample = whole.sample};
    add_predictions(batch, kept_rows);
    segments_.push_back({.begin = tokens_.size(), .length = length, .sample = whole.sample});
    add_rows(batch, kept_rows);
    add_answer_span(batch, segment, length);
    add_pixels(batch, segment);
}

void ResizedBatch::add_rows(const model::TokenBatch& batch, kernels::Segment kept_rows) {
    const layout::Range rows{kept_rows.begin, kept_rows.length};
    append(tokens_, batch.tokens, rows);
    append(positions_, batch.positions, rows);
    append(types_, batch.types, rows);
    append(visits_, batch.visits, rows);
}

// If no kept row of the sample has a target, the first row gets target 0, so that each sample has a target.
// No-op if the micro-batch has no targets.
void ResizedBatch::add_predictions(const model::TokenBatch& batch, kernels::Segment kept_rows) {
    const auto old_begin = static_cast<std::int32_t>(kept_rows.begin);
    const auto new_begin = static_cast<std::int32_t>(tokens_.size());
    const std::size_t old_target_count = predicted_.size();
    for (std::size_t p = 0; p < batch.predicted_rows.columns; ++p) {
        const std::int32_t row_in_sample = batch.predicted_rows.as<std::int32_t>().data[p] - old_begin;
        if (row_in_sample < 0 || row_in_sample >= static_cast<std::int32_t>(kept_rows.length)) continue;
        predicted_.push_back(new_begin + row_in_sample);
        targets_.push_back(batch.targets.as<std::int32_t>().data[p]);
    }
    if (predicted_.size() > old_target_count || batch.predicted_rows.columns == 0) return;
    predicted_.push_back(new_begin);
    targets_.push_back(0);
}

// Limits the first and last row of the answer, and the range [begin, end) of the context, to the kept rows.
// All four values are counted in rows from the first row of the segment.
void ResizedBatch::add_answer_span(const model::TokenBatch& batch, std::size_t segment, std::size_t length) {
    const auto end = static_cast<std::int32_t>(length);
    for (std::size_t i = 0; i < 2 && batch.answers.is_present(); ++i)
        answers_.push_back(std::min(batch.answers.as<std::int32_t>().row(segment)[i], end - 1));
    for (std::size_t i = 0; i < 2 && batch.contexts.is_present(); ++i)
        contexts_.push_back(
            std::min(batch.contexts.as<std::int32_t>().row(segment)[i], i == 0 ? end - 1 : end));
}

void ResizedBatch::add_pixels(const model::TokenBatch& batch, std::size_t segment) {
    if (!batch.pixels.is_present()) return;
    const std::size_t patches = batch.pixels.rows / batch.segments.size();
    append(pixels_, batch.pixels, {segment * patches * pixel_columns_, patches * pixel_columns_});
}

model::TokenBatch ResizedBatch::view() const {
    const std::size_t segments = segments_.size();
    return {.tokens = make_view(tokens_),
            .positions = make_view(positions_),
            .types = make_view(types_),
            .visits = make_view(visits_),
            .segments = segments_,
            .predicted_rows = make_view(predicted_),
            .targets = make_view(targets_),
            .answers = make_view(answers_, segments),
            .contexts = make_view(contexts_, segments),
            .pixels = make_view(pixels_, pixels_.empty() ? 1 : pixels_.size() / pixel_columns_)};
}

}  // namespace trireme::tools
