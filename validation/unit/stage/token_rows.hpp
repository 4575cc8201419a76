// Micro-batches for tests of the stage, padded or packed by hand.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "whole_model.hpp"

namespace trireme::stage {

// A text or an image. Fields that a task does not use stay empty.
struct TokenSample {
    std::vector<std::int32_t> tokens = {};          // for an image, a zero per row
    std::vector<std::int32_t> types = {};           // one per token; if empty, all are 0
    std::vector<std::int32_t> predicted_rows = {};  // rows within the sample, ascending
    std::vector<std::int32_t> targets = {};         // one per predicted row
    std::array<std::int32_t, 2> answer = {-1, -1};  // first and last row within the sample
    std::array<std::int32_t, 2> context = {0, 0};   // rows within the sample, [begin, end)
    std::vector<float> pixels = {};                 // (patches, channels * patch * patch)
    std::int64_t visit = 0;
};

// Owns the data that a TokenBatch views.
class TokenRows {
public:
    // Puts one sample after the other. If `padded_length` is set, each sample is padded to that number of rows.
    explicit TokenRows(std::span<const TokenSample> samples, std::size_t padded_length = 0);

    // Keeps only one prediction, with a new target.
    void keep_prediction(std::size_t prediction, std::int32_t target);
    // Gives one sample this answer, and removes all other answers.
    void set_single_answer(std::size_t sample, std::array<std::int32_t, 2> answer);

    model::TokenBatch batch() const;
    BatchShape shape() const { return {segments_, tokens_.size()}; }

private:
    void append(const TokenSample& sample, std::size_t rows);

    std::vector<std::int32_t> tokens_, positions_, types_, predicted_, targets_, answers_, contexts_;
    std::vector<std::int64_t> visits_;
    std::vector<kernels::Segment> segments_;
    std::vector<float> pixels_;
};

}  // namespace trireme::stage
