// What came of a step, and what each rank says of it.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trireme/comm/tally.hpp"
#include "trireme/device/tensor.hpp"
#include "trireme/plan/observation.hpp"
#include "trireme/setup/model_flops.hpp"

namespace trireme::records {

// The largest of several reasons on one rank counts.
enum class StopReason { none, time_limit, end_of_job, user_signal, interrupt, terminate, hangup };

// The reason why a run stops. Equal on all ranks.
struct Stop {
    StopReason reason = StopReason::none;
    int rank = 0;  // the first that has this reason
};

// The state of each rank's GPU behind a step, by rank: a field that some do not tell is empty. Of a GPU that
// several share, each of them says the same.
struct GpuStates {
    std::vector<double> watts = {};
    std::vector<double> clock_mhz = {};
    std::vector<double> memory_clock_mhz = {};
    std::vector<double> celsius = {};
    std::vector<double> used_bytes = {};
};

// What came of a step. Equal on all ranks.
struct StepOutcome {
    std::size_t step = 0;  // from 0
    double loss = 0;       // per target
    double gradient_norm = 0;
    double rate = 0;
    bool is_skipped = false;  // something was not finite, and the update was left out, or that of a stage was
    std::vector<int> non_finite_ranks = {};  // Ranks with a part of the loss or gradient that is not finite
    std::string non_finite = {};  // Describes the first value that is not finite; empty: not searched.
    setup::StepSize size = {};
    std::optional<bool> is_rolled_back = {};  // its update went ahead of the norm, was wrong, and was made
                                              // again; none: updates wait for the norm
    std::size_t padded_tokens = 0;            // computed, over all replicas
    double seconds = 0;                       // of the slowest rank
    double compute_seconds = 0;               // in kernels; mean over the ranks
    plan::RankWaits waits = {};               // mean over the ranks
    std::vector<plan::RankTimes> ranks = {};  // what each of them did
    std::vector<double> slowness = {};        // of each, as Observation has it; empty: none is slow
    std::size_t peak_bytes = 0;               // resident since the start; of the largest rank
    // Of each rank's device; what a rank draws that waits for the last one at its end is of the next step.
    // Empty where some of them are not measured.
    std::vector<double> joules_of_ranks = {};
    GpuStates gpus = {};
    Stop stop = {};  // what ranks wished behind it
};

// What each rank says of a step that it has executed.
struct RecordFields {
    enum : std::size_t {
        loss,
        squares,
        skipped,
        rolled_back,
        seconds,
        products,
        product_flops,
        whole_flops,
        others,
        wait_pipeline,
        wait_tensor,
        wait_data,
        wait_others,
        padded_tokens,
        peak_bytes,
        joules,
        stop,
        count,
        // Of a run on GPUs, behind these.
        watts = count,
        clock_mhz,
        memory_clock_mhz,
        celsius,
        used_bytes,
        count_on_gpus
    };
};

// How many a rank says, of a run whose tensors are there.
std::size_t fields_of_record(device::MemorySpace place);

// Adds what all ranks have said of it; what the step had to do is known before.
void add_records(const comm::Gathered& all, StepOutcome& outcome);

}  // namespace trireme::records
