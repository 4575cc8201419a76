// What passes the model together: a plan names samples, the data room builds their tensors.
#pragma once

#include <cstdint>
#include <vector>

namespace trireme::plan {

// How samples of unequal length share a micro-batch.
//   fixed   every sample is padded to the longest of the corpus, once cut
//   pad     every sample is padded to the longest of its micro-batch
//   pack    samples lie one after the other without padding; attention stays within each
enum class LengthPolicy : std::uint8_t { fixed, pad, pack };

// One visit of one sample: the epoch it is visited in, and its number in the sample index.
struct SampleVisit {
    std::uint64_t epoch = 0;
    std::uint64_t sample = 0;
    friend bool operator==(const SampleVisit&, const SampleVisit&) = default;
};

struct Microbatch {
    std::vector<SampleVisit> samples;
    std::size_t padded_length = 0;  // of every sample; 0: packed
};

// Cuts the samples of one step into micro-batches whose numbers of samples differ by at most one, in order.
// Micro-batches exist even when there are fewer samples; those are empty.
std::vector<std::vector<SampleVisit>> cut_evenly(const std::vector<SampleVisit>& samples, std::size_t parts);

}  // namespace trireme::plan
