// The measurements of a run that a policy reads between two steps.
#pragma once

#include <cstddef>
#include <vector>

namespace trireme::plan {

// Seconds that a rank waits for other ranks in a step.
struct RankWaits {
    double pipeline = 0;  // for other stages: activations, gradients, and the gradient norm before an update
    double tensor = 0;    // for the other ranks of its team
    double data = 0;    // for other replicas: gradients and parameters; with one stage, also the gradient norm
    double others = 0;  // for collectives of all ranks

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
    double matmuls = 0;       // seconds in matmuls of blocks
    double matmul_flops = 0;  // flops of these matmuls
    double full_flops = 0;    // flops of these matmuls if no channel were skipped
    double others = 0;        // seconds in all other kernels of the rank
    RankWaits waits = {};

    double busy() const { return matmuls + others; }
    double unskipped_matmul_seconds() const {
        return matmul_flops > 0 ? matmuls * full_flops / matmul_flops : 0;
    }
};

// An observation is equal on every rank. Its times are moving averages of the past steps.
struct Observation {
    std::size_t step = 0;               // number of completed steps
    double step_seconds = 0;            // average
    std::vector<RankTimes> ranks = {};  // averages under the current plan; empty if not observed yet
    std::vector<double> slowness = {};  // per rank: time for a matmul relative to other ranks; 1 if the
                                        // rank is not significantly slower
    std::size_t steady_steps = 0;       // steps since a rank's slowness last changed
};

}  // namespace trireme::plan
