#include "stage/sample_selection.hpp"

namespace trireme::stage {

SampleSelection::SampleSelection(const model::TokenBatch& batch, const std::vector<std::size_t>& samples,
                                 device::Arena& arena)
    : batch_(batch), samples_(samples) {
    std::size_t rows = 0;
    for (const std::size_t sample : samples) {
        segments_.push_back(batch.segments[sample]);
        segments_.back().begin = rows;
        rows += segments_.back().length;
    }
    selected_.segments = segments_;
    selected_.tokens = select_columns(batch.tokens, arena);
    selected_.positions = select_columns(batch.positions, arena);
    selected_.types = select_columns(batch.types, arena);
    selected_.visits = select_columns(batch.visits, arena);
    if (!batch.pixels.is_present()) return;
    const std::size_t patches = batch.pixels.rows / batch.segments.size();
    const device::Tensor pixels =
        arena.tensor(batch.pixels.dtype, patches * samples.size(), batch.pixels.columns);
    for (std::size_t s = 0; s < samples.size(); ++s)
        copy_rows(batch.pixels.row_range(samples[s] * patches, patches),
                  pixels.row_range(s * patches, patches));
    selected_.pixels = pixels;
}

// Returns the elements of the selected samples' rows from `values`, which has one element per row.
device::ConstTensor SampleSelection::select_columns(device::ConstTensor values, device::Arena& arena) const {
    if (!values.is_present()) return {};
    std::size_t rows = 0;
    for (const kernels::Segment& segment : segments_) rows += segment.length;
    const device::Tensor selected = arena.tensor(values.dtype, 1, rows);
    for (std::size_t s = 0; s < segments_.size(); ++s) {
        const auto [begin, length, visit] = segments_[s];
        copy_rows(values.column_range(batch_.segments[samples_[s]].begin, length),
                  selected.column_range(begin, length));
    }
    return selected;
}

void SampleSelection::gather(device::ConstTensor all, device::Tensor selected) const {
    for (std::size_t s = 0; s < segments_.size(); ++s) {
        const auto [begin, length, visit] = segments_[s];
        copy_rows(all.row_range(batch_.segments[samples_[s]].begin, length), selected.row_range(begin, length));
    }
}

void SampleSelection::scatter(device::ConstTensor selected, device::Tensor all, std::size_t samples) const {
    for (std::size_t s = 0; s < samples; ++s) {
        const auto [begin, length, visit] = segments_[s];
        copy_rows(selected.row_range(begin, length), all.row_range(batch_.segments[samples_[s]].begin, length));
    }
}

}  // namespace trireme::stage
