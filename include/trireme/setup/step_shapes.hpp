// The shapes of the micro-batches of training steps. The shapes depend only on the lengths of the samples, so
// that no sample is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "trireme/plan/microbatch.hpp"
#include "trireme/setup/setup.hpp"
#include "trireme/stage/predict.hpp"

namespace trireme::setup {

// Returns the sequence of all visits to training samples.
data::Sampler make_sampler(const Job& job);

// Returns the number of targets (terms of the loss) of `visits`, which are visits to training samples. If the
// job has no corpus, every row of a sample has a target.
std::size_t count_targets(const Job& job, const std::vector<plan::SampleVisit>& visits);

// Returns the lengths of the samples of a training step (from 0), in tokens.
std::vector<std::uint32_t> list_sample_lengths(const Job& job, const StepSamples& step_samples,
                                               std::size_t step);

// Returns the shape of `microbatch`, a micro-batch of training samples.
stage::BatchShape make_batch_shape(const Job& job, const plan::Microbatch& microbatch);

}  // namespace trireme::setup
