// The samples of a micro-batch, as indices. The code in data/ reads the samples and builds their tensors.
#pragma once

#include <cstdint>
#include <vector>

namespace trireme::plan {

// The arrangement of samples of unequal length in a micro-batch.
//   fixed   every sample is padded to the length of the longest sample of the corpus
//   pad     every sample is padded to the length of the longest sample of its micro-batch
//   step    every sample is padded to the length of the longest sample of its step
//   pack    samples follow each other without padding; tokens attend to tokens of their own sample only
//   dynapipe   like pad, but micro-batches are formed by predicted time (policy/steps.hpp)
//   balanced   like pack, but micro-batches are formed by predicted time
// With the first four values, the numbers of samples of a step's micro-batches differ by at most one.
enum class LengthPolicy : std::uint8_t { fixed, pad, step, pack, dynapipe, balanced };

// True if the number of samples per micro-batch follows from predicted times.
inline bool forms_by_time(LengthPolicy policy) {
    return policy == LengthPolicy::dynapipe || policy == LengthPolicy::balanced;
}
inline bool is_packed(LengthPolicy policy) {
    return policy == LengthPolicy::pack || policy == LengthPolicy::balanced;
}

// A visit of a sample: the epoch, and the index of the sample in the list data::SampleIndex::train or
// data::SampleIndex::validation.
struct SampleVisit {
    std::uint64_t epoch = 0;
    std::uint64_t sample = 0;
    friend bool operator==(const SampleVisit&, const SampleVisit&) = default;
};

struct Microbatch {
    std::vector<SampleVisit> samples;
    std::size_t padded_length = 0;  // tokens per sample, including padding; 0 if packed
};

// Cuts the samples of a step, in order, into `microbatches` micro-batches whose numbers of samples differ by at
// most one. If there are fewer samples than micro-batches, some micro-batches are empty.
std::vector<std::vector<SampleVisit>> cut_into_microbatches(const std::vector<SampleVisit>& samples,
                                                            std::size_t microbatches);

}  // namespace trireme::plan
