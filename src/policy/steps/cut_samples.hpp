// Cuts the sorted samples of a step into micro-batches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "policy/steps/microbatch_timer.hpp"

namespace trireme::policy {

struct CutLimits {
    MicrobatchRules rules;
    std::size_t max_microbatches = 1;
    std::int64_t stages = 1;
};

// The micro-batch of the samples [begin, end) of a list.
struct SampleRange {
    std::size_t begin = 0;
    std::size_t end = 0;
    friend bool operator==(const SampleRange&, const SampleRange&) = default;
};

// Finds the shape of any range of a list of samples that is sorted by length.
class RangeShapes {
public:
    RangeShapes(const std::vector<StepSample>& sorted_samples, bool is_packed);

    plan::MicrobatchShape find(SampleRange range) const;

private:
    const std::vector<StepSample>& samples_;
    bool is_packed_;
    std::vector<plan::MicrobatchShape> sums_;  // entry n: sums over the first n samples
};

using FindWork = std::function<std::int64_t(const std::vector<std::int64_t>& loads)>;

// Cuts `samples` into micro-batches, and returns their ranges in ascending order. The cut minimizes
//     (stages - 1) * max_microbatches * t + find_work(loads of the micro-batches),
// where t is the largest `slowest_stage` of a micro-batch. For each t, only the cut with the smallest sum of
// loads is considered. If there are many samples, the result may be slightly above the minimum. `find_work`
// returns the sum of the loads, or more if the loads cannot be shared evenly. `samples` is sorted by length and
// not empty. Throws ConfigError as StepFormer::form() does.
std::vector<SampleRange> cut_samples(const std::vector<StepSample>& samples, const CutLimits& limits,
                                     MicrobatchTimer& timer, const FindWork& find_work);

}  // namespace trireme::policy
