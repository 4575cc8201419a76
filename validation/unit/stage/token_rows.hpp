// Micro-batches for tests of the stage, padded or packed by hand.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trireme/stage/stage.hpp"

namespace trireme {

struct TokenSample {
    std::vector<std::int32_t> tokens;
    std::vector<std::int32_t> targets;  // as many
    std::int64_t visit = 0;
};

// Owns what a TokenBatch views.
class TokenRows {
public:
    // One sample after the other; with `padded_length`, each is followed by padding up to that many rows.
    explicit TokenRows(std::span<const TokenSample> samples, std::size_t padded_length = 0);

    // Only that row is to be predicted, and with that target.
    void predict_only(std::size_t row, std::int32_t target);

    TokenBatch batch() const;
    BatchShape shape() const { return {segments_, tokens_.size()}; }

private:
    std::vector<std::int32_t> tokens_, targets_, positions_;
    std::vector<std::int64_t> visits_;
    std::vector<Segment> segments_;
};

}  // namespace trireme
