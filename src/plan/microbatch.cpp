#include "trireme/plan/microbatch.hpp"

namespace trireme::plan {

std::vector<std::vector<SampleVisit>> cut_into_microbatches(const std::vector<SampleVisit>& samples,
                                                            std::size_t microbatches) {
    std::vector<std::vector<SampleVisit>> microbatch_samples(microbatches);
    for (std::size_t m = 0; m < microbatches; ++m) {
        const auto begin = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() * m / microbatches);
        const auto end = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() * (m + 1) / microbatches);
        microbatch_samples[m].assign(begin, end);
    }
    return microbatch_samples;
}

}  // namespace trireme::plan
