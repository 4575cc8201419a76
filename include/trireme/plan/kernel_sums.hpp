// Kernel times of a stage for the shapes of many micro-batches, as the search for good micro-batches needs
// them.
#pragma once

#include <cstdint>
#include <vector>

#include "trireme/plan/stage_work.hpp"

namespace trireme::plan {

struct PassTimes {
    std::int64_t forward = 0;  // nanoseconds
    std::int64_t backward = 0;

    std::int64_t sum() const { return forward + backward; }
};

// Finds the kernel times that StageWork::predict_costs() predicts, up to rounding, but faster. The times of
// many kernels depend on a single count of the shape. The sum of these times is stored for each value of this
// count.
class KernelSums {
public:
    // If `splits_backward`, the time of a backward pass is the sum of the times of its two halves. `work` is
    // kept by reference.
    KernelSums(const StageWork& work, bool splits_backward, KernelSeconds seconds);

    PassTimes find(const MicrobatchShape& shape);

private:
    struct Kernel {
        const KernelFormula* formula;
        bool is_forward;
    };
    struct Seconds {
        double forward = -1;  // negative if unknown
        double backward = 0;
    };
    // The kernels whose times depend on a single count of the shape.
    struct CountedKernels {
        std::size_t MicrobatchShape::*count;
        std::vector<Kernel> kernels = {};
        std::vector<Seconds> sums = {};  // per value of the count: total time of all `kernels`
    };
    // The kernels of one entry of StageWork::formulas().
    struct ShapeRange {
        std::size_t max_rows;
        CountedKernels by_rows{.count = &MicrobatchShape::rows};
        CountedKernels by_predicted_rows{.count = &MicrobatchShape::predicted_rows};
        std::vector<Kernel> others = {};
    };

    void add_kernels(const PassFormula& pass, bool is_forward, ShapeRange& range);
    Seconds find_sum(CountedKernels& counted, const MicrobatchShape& shape);
    Seconds add_up(const std::vector<Kernel>& kernels, const MicrobatchShape& shape) const;

    const StageWork& work_;
    KernelSeconds seconds_;
    std::vector<ShapeRange> ranges_;
};

}  // namespace trireme::plan
