// Makes a shorter or longer micro-batch from a given one.
#pragma once

#include <cstdint>
#include <vector>

#include "trireme/model/layer.hpp"

namespace trireme::tools {

// The size of a resized micro-batch relative to the original one.
struct BatchSize {
    double length = 1;  // fraction of each sample's rows that is kept; at least one row, and images entirely
    std::size_t copies = 1;  // how often all samples are repeated
};

// Owns the memory of the resized micro-batch. Rows that belong to no sample are omitted.
class ResizedBatch {
public:
    ResizedBatch(const model::TokenBatch& batch, const BatchSize& size);
    ResizedBatch(const ResizedBatch&) = delete;
    ResizedBatch& operator=(const ResizedBatch&) = delete;

    model::TokenBatch view() const;  // refers to this object's memory

private:
    void add(const model::TokenBatch& batch, std::size_t segment, std::size_t length);
    void add_rows(const model::TokenBatch& batch, kernels::Segment kept_rows);
    void add_predictions(const model::TokenBatch& batch, kernels::Segment kept_rows);
    void add_answer_span(const model::TokenBatch& batch, std::size_t segment, std::size_t length);
    void add_pixels(const model::TokenBatch& batch, std::size_t segment);

    std::vector<std::int32_t> tokens_, positions_, types_, predicted_, targets_, answers_, contexts_;
    std::vector<std::int64_t> visits_;
    std::vector<kernels::Segment> segments_;
    std::vector<float> pixels_;
    std::size_t pixel_columns_ = 0;
};

}  // namespace trireme::tools
