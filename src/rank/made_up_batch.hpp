// A micro-batch without a corpus.
#pragma once

#include "trireme/data/batch.hpp"
#include "trireme/model/config.hpp"

namespace trireme::rank {

// Random tokens or pixels in `samples` samples of `length` rows, and as many targets as a corpus would give:
// each next token, `mask_share` of the tokens, an answer of one token or one class for each sample.
data::Batch made_up_batch(const model::ModelConfig& model, std::size_t samples, std::size_t length,
                          double mask_share);

}  // namespace trireme::rank
