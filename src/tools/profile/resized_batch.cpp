#include "tools/profile/resized_batch.hpp"

#include <algorithm>
#include <cmath>

namespace trireme::tools {
namespace {

template <class T>
void append(std::vector<T>& to, device::ConstTensor from, layout::Range range) {
    if (!from.is_present()) return;
    const T* const first = from.as<T>().data + range.begin;
    to.insert(to.end(), first, first + range.count);
}

template <class T>
device::ConstTensor view_of(const std::vector<T>& values, std::size_t rows = 1) {
    if (values.empty()) return {};
    const std::size_t columns = values.size() / rows;
    return {values.data(), device::dtype_of<T>(), rows, columns, columns};
}

}  // namespace

ResizedBatch::ResizedBatch(const model::TokenBatch& batch, const BatchSize& size)
    : pixel_columns_(batch.pixels.columns) {
    for (std::size_t copy = 0; copy < size.copies; ++copy) {
        for (std::size_t s = 0; s < batch.segments.size(); ++s) {
            const auto whole = static_cast<double>(batch.segments[s].length);
            const auto kept = static_cast<std::size_t>(std::lround(whole * size.length));
            add(batch, s,
                batch.pixels.is_present() ? batch.segments[s].length : std::max<std::size_t>(1, kept));
        }
    }
}

void ResizedBatch::add(const model::TokenBatch& batch, std::size_t segment, std::size_t length) {
    const kernels::Segment& whole = batch.segments[segment];
    const kernels::Segment kept{.begin = whole.begin, .length = length, .sample = whole.sample};
    add_predictions(batch, kept);
    segments_.push_back({.begin = tokens_.size(), .length = length, .sample = whole.sample});
    add_rows(batch, kept);
    add_span(batch, segment, length);
    add_pixels(batch, segment);
}

void ResizedBatch::add_rows(const model::TokenBatch& batch, kernels::Segment kept) {
    const layout::Range rows{kept.begin, kept.length};
    append(tokens_, batch.tokens, rows);
    append(positions_, batch.positions, rows);
    append(types_, batch.types, rows);
    append(visits_, batch.visits, rows);
}

// If no kept row of the sample has a target, its first row gets one.
void ResizedBatch::add_predictions(const model::TokenBatch& batch, kernels::Segment kept) {
    const auto old_begin = static_cast<std::int32_t>(kept.begin);
    const auto new_begin = static_cast<std::int32_t>(tokens_.size());
    const std::size_t before = predicted_.size();
    for (std::size_t p = 0; p < batch.predicted.columns; ++p) {
        const std::int32_t row = batch.predicted.as<std::int32_t>().data[p] - old_begin;
        if (row < 0 || row >= static_cast<std::int32_t>(kept.length)) continue;
        predicted_.push_back(new_begin + row);
        targets_.push_back(batch.targets.as<std::int32_t>().data[p]);
    }
    if (predicted_.size() > before || batch.predicted.columns == 0) return;
    predicted_.push_back(new_begin);
    targets_.push_back(0);
}

void ResizedBatch::add_span(const model::TokenBatch& batch, std::size_t segment, std::size_t length) {
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
    return {.tokens = view_of(tokens_),
            .positions = view_of(positions_),
            .types = view_of(types_),
            .visits = view_of(visits_),
            .segments = segments_,
            .predicted = view_of(predicted_),
            .targets = view_of(targets_),
            .answers = view_of(answers_, segments),
            .contexts = view_of(contexts_, segments),
            .pixels = view_of(pixels_, pixels_.empty() ? 1 : pixels_.size() / pixel_columns_)};
}

}  // namespace trireme::tools
