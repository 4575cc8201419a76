#include "trireme/plan/microbatch.hpp"

namespace trireme::plan {

std::vector<std::vector<SampleVisit>> cut_evenly(const std::vector<SampleVisit>& samples, std::size_t parts) {
    std::vector<std::vector<SampleVisit>> cut(parts);
    for (std::size_t p = 0; p < parts; ++p) {
        const auto begin = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() * p / parts);
        const auto end = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() * (p + 1) / parts);
        cut[p].assign(begin, end);
    }
    return cut;
}

}  // namespace trireme::plan
