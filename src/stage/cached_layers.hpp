// Runs the frozen layers of a stage with a cache of their outputs.
#pragma once

#include "trireme/stage/predict.hpp"
#include "trireme/stage/stage.hpp"

namespace trireme::stage {

// Collective over pass.group. Returns the output of the stage's frozen layers, a view of the only tensor that
// is added to the stash: the rows of all samples. Reads the samples that are in the cache. Computes the
// others, and the new blocks of samples whose entry has fewer frozen blocks than the plan, and writes both to
// the cache. The rows of padding are 0.
device::Tensor run_with_cache(const Stage& stage, const CacheUse& use, const model::Pass& pass,
                              device::ConstTensor input, ActivationStash& stash, Workspace& workspace,
                              const PassEvents& events);

// Returns the bytes of the stash that run_with_cache() may use at a time for `batch`, a micro-batch of `model`.
std::size_t count_stash_bytes_with_cache(const model::ModelConfig& model, const BatchShape& batch,
                                         const PassVariant& variant);

}  // namespace trireme::stage
