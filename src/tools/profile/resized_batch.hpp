// A micro-batch that is like another, and shorter or longer.
#pragma once

#include <cstdint>
#include <vector>

#include "trireme/model/layer.hpp"

namespace trireme::tools {

// How many rows of each sample are kept, at least one, and how often all samples are there. Images are always
// kept whole.
struct BatchSize {
    double length = 1;  // share of its rows
    std::size_t copies = 1;
};

// Rows that belong to no sample are left out.
class ResizedBatch {
public:
    ResizedBatch(const model::TokenBatch& batch, const BatchSize& size);
    ResizedBatch(const ResizedBatch&) = delete;
    ResizedBatch& operator=(const ResizedBatch&) = delete;

    model::TokenBatch view() const;  // of this object's memory

private:
    void add(const model::TokenBatch& batch, std::size_t segment, std::size_t length);
    void add_rows(const model::TokenBatch& batch, kernels::Segment kept);
    void add_predictions(const model::TokenBatch& batch, kernels::Segment kept);
    void add_span(const model::TokenBatch& batch, std::size_t segment, std::size_t length);
    void add_pixels(const model::TokenBatch& batch, std::size_t segment);

    std::vector<std::int32_t> tokens_, positions_, types_, predicted_, targets_, answers_, contexts_;
    std::vector<std::int64_t> visits_;
    std::vector<kernels::Segment> segments_;
    std::vector<float> pixels_;
    std::size_t pixel_columns_ = 0;
};

}  // namespace trireme::tools
