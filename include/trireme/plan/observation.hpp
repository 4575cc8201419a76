// The measurements of a run that a policy reads between two steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace trireme::plan {

// Seconds that a rank waits for other ranks in a step.
struct RankWaits {
    // Waits for other stages: activations, gradients, and the gradient norm if there are several stages.
    double pipeline = 0;
    double tensor = 0;  // waits for the other ranks of the team
    // Waits for other replicas: gradients, parameters, and the gradient norm if there is only one stage.
    double data = 0;
    double others = 0;  // waits in the all-gather of step records, in which all ranks take part

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

// The passes of a team, or of a rank, in a step. Times are in seconds.
struct MeasuredPasses {
    // Per pass, in program order: from the end of the preceding pass, or from the beginning of the step, to the
    // arrival of the input; 0 for passes of empty micro-batches.
    std::vector<double> waits = {};
    double end = 0;  // of the last pass, from the beginning of the step
    // Mean durations of a forward and of a backward of a micro-batch that has samples, both parts of a split
    // backward included; 0 if there are none.
    double forward = 0, backward = 0;
};

// The times of a rank in a step, or their averages over several steps.
struct RankTimes {
    double matmuls = 0;       // seconds in matmuls of blocks, including those for other ranks
    double matmul_flops = 0;  // flops of these matmuls
    double full_flops = 0;    // flops that the rank's own matmuls would have without skipping and offloading
    // Seconds that the matmuls in `matmuls` would take on one fixed device, which is the same for all ranks, at
    // its highest clock.
    double expected_matmuls = 0;
    double matmul_calls = 0;        // number of matmuls in `matmuls`
    double matmul_clock_delay = 0;  // seconds that these matmuls took longer than at the highest clock
    double others = 0;              // seconds in all other kernels of the rank
    double other_clock_delay = 0;   // seconds that these kernels took longer than at the highest clock
    RankWaits waits = {};

    // Returns the times that the kernels would have at the highest clock.
    RankTimes at_highest_clock() const {
        RankTimes times = *this;
        times.matmuls -= times.matmul_clock_delay;
        times.others -= times.other_clock_delay;
        times.matmul_clock_delay = times.other_clock_delay = 0;
        return times;
    }

    // Returns the seconds in all kernels.
    double busy() const { return matmuls + others; }
    // Returns the seconds that the rank's own matmuls would take without skipping and offloading.
    double unskipped_matmul_seconds() const {
        return matmul_flops > 0 ? matmuls * full_flops / matmul_flops : 0;
    }
};

// A coming step, whose samples are known.
struct StepAhead {
    std::size_t step = 0;                     // from 0
    std::vector<std::uint32_t> lengths = {};  // tokens per sample, in the order of the step
};

// An observation is equal on every rank. Its times are moving averages of the past steps. The averages restart
// when the slowness of a rank changes.
struct Observation {
    std::size_t step = 0;     // number of completed steps
    double step_seconds = 0;  // moving average
    // Averages under the current plan, at the highest clock; empty before its first step.
    std::vector<RankTimes> ranks = {};
    std::vector<double> slowness = {};  // per rank: time for a matmul relative to the median
                                        // rank; 1 if the rank is not slow
    std::size_t steady_steps = 0;       // number of steps since the slowness of any rank last changed
    std::vector<StepAhead> ahead = {};  // the coming steps, from the next one; empty if no decision reads them
};

}  // namespace trireme::plan
