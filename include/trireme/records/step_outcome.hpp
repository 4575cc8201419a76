// The outcome of a step, and the record of each rank from which it is computed.
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

// In ascending priority: the largest of several reasons counts.
enum class StopReason { none, time_limit, end_of_job, user_signal, interrupt, terminate, hangup };

// The reason why a run stops. Equal on all ranks.
struct Stop {
    StopReason reason = StopReason::none;
    int rank = 0;  // the lowest rank with this reason
};

// The state of each rank's GPU after a step, per rank. A field is empty if a rank does not report it. Ranks
// that share a GPU report the same values.
struct GpuStates {
    std::vector<double> watts = {};
    std::vector<double> clock_mhz = {};
    std::vector<double> memory_clock_mhz = {};
    std::vector<double> celsius = {};
    std::vector<double> used_bytes = {};
};

// The outcome of a step. Equal on all ranks.
struct StepOutcome {
    std::size_t step = 0;  // counts from 0
    double loss = 0;       // mean per target
    double gradient_norm = 0;
    double rate = 0;          // learning rate
    bool is_skipped = false;  // the update, or that of a stage, was skipped because a value was not finite
    std::vector<int> non_finite_ranks = {};  // ranks whose part of the loss or gradient is not finite
    std::string non_finite = {};  // describes the first value that is not finite; empty if not searched for
    setup::StepSize size = {};
    std::optional<bool> is_rolled_back = {};  // the speculative update was wrong and has been redone; empty if
                                              // updates wait for the norm
    std::size_t padded_tokens = 0;            // computed tokens over all replicas, including padding
    double seconds = 0;                       // duration on the slowest rank
    double compute_seconds = 0;               // in kernels; mean over the ranks
    plan::RankWaits waits = {};               // mean over the ranks
    std::vector<plan::RankTimes> ranks = {};  // per rank
    std::vector<double> slowness = {};        // per rank, see Observation; empty if no rank is slow
    std::size_t peak_bytes = 0;               // peak memory since the start, of the largest rank
    // Energy of each rank's device. What a rank consumes after its own end of the step counts for the next
    // step. Empty if some ranks are not measured.
    std::vector<double> joules_of_ranks = {};
    GpuStates gpus = {};
    Stop stop = {};  // request of a rank to stop after this step
};

// Indices of the numbers that each rank reports for a step.
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
        // Runs on GPUs append these fields.
        watts = count,
        clock_mhz,
        memory_clock_mhz,
        celsius,
        used_bytes,
        count_on_gpus
    };
};

// Returns the number of fields per rank for a run whose tensors are in memory space `place`.
std::size_t fields_of_record(device::MemorySpace place);

// Computes the rest of the outcome from the records of all ranks; `outcome.size` must be set.
void add_records(const comm::Gathered& all, StepOutcome& outcome);

}  // namespace trireme::records
