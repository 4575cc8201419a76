// The measurements of a run, as a policy reads them between two steps.
#pragma once

#include <cstddef>
#include <vector>

namespace trireme::plan {

// Seconds that a rank waits for other ranks in a step.
struct RankWaits {
    double pipeline = 0;  // for other stages: activations, gradients, and the norm before an update
    double tensor = 0;    // for the other ranks of its team
    double data = 0;      // for other replicas: gradients and parameters, and the norm if there is one stage
    double others = 0;    // for exchanges among all ranks

    double sum() const { return pipeline + tensor + data + others; }
    RankWaits& operator+=(const RankWaits& more) {
        pipeline += more.pipeline;
        tensor += more.tensor;
        data += more.data;
        others += more.others;
        return *this;
    }
    RankWaits operator*(double factor) const {
        return {pipeline * factor, tensor * factor, data * factor, others * factor};
    }
};

// The times of a rank in a step, or the average of several steps.
struct RankTimes {
    double products = 0;       // seconds in matmuls of blocks
    double product_flops = 0;  // flops of these matmuls
    double whole_flops = 0;    // flops that they would have had without skipped channels
    double others = 0;         // seconds in all other kernels
    RankWaits waits = {};

    double busy() const { return products + others; }
    double whole_products() const { return product_flops > 0 ? products * whole_flops / product_flops : 0; }
};

// Equal on every rank. Times are moving averages of the past steps.
struct Observation {
    std::size_t step = 0;               // steps made so far
    double step_seconds = 0;            // average
    std::vector<RankTimes> ranks = {};  // averages under the current plan; empty if not observed yet
    std::vector<double> slowness = {};  // per rank: time for a matmul relative to other ranks; 1 if it is not
                                        // significantly slower
    std::size_t steady_steps = 0;       // steps since a rank's slowness last changed
};

}  // namespace trireme::plan
