// Makes a micro-batch with fewer or more rows from a given micro-batch.
#pragma once

#include <cstdint>
#include <vector>

#include "trireme/model/layer.hpp"

namespace trireme::tools {

// The size of a resized micro-batch relative to the original micro-batch.
struct BatchSize {
    double length = 1;  // fraction of the rows of a sample that is kept: at least one row, all rows of an image
    std::size_t copies = 1;  // number of copies of each sample in the resized micro-batch
};

// Owns the memory of the resized micro-batch. Padding rows are omitted.
class ResizedBatch {
public:
    // Copies from `batch`, whose tensors must be in host memory.
    ResizedBatch(const model::TokenBatch& batch, const BatchSize& size);
    ResizedBatch(const ResizedBatch&) = delete;
    ResizedBatch& operator=(const ResizedBatch&) = delete;

    model::TokenBatch view() const;  // this object must outlive the view

private:
    // Append the first `length` rows of a segment of `batch`, and the targets, answers and pixels of the
    // segment. `segment` is an index in batch.segments. `kept_rows` is that segment, cut to `length` rows.
    void add_sample(const model::TokenBatch& batch, std::size_t segment, std::size_t length);
    void add_rows(const model::TokenBatch& batch, kernels::Segment kept_rows);
    void add_predictions(const model::TokenBatch& batch, kernels::Segment kept_rows);
    void add_answer_span(const model::TokenBatch& batch, std::size_t segment, std::size_t length);
    void add_pixels(const model::TokenBatch& batch, std::size_t segment);

    std::vector<std::int32_t> tokens_, positions_, types_, predicted_, targets_, answers_, contexts_;
    std::vector<std::int64_t> visits_;
    std::vector<kernels::Segment> segments_;
    std::vector<float> pixels_;
    std::size_t pixel_columns_ = 0;  // values per patch; 0 without images
};

}  // namespace trireme::tools
