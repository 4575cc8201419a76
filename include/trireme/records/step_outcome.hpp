// The outcome of a step, and the record of each rank from which it is computed.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trireme/comm/step_gather.hpp"
#include "trireme/device/tensor.hpp"
#include "trireme/plan/observation.hpp"
#include "trireme/plan/recompute.hpp"
#include "trireme/records/elastic_decision.hpp"
#include "trireme/records/energy_phases.hpp"
#include "trireme/records/step_work.hpp"
#include "trireme/setup/model_flops.hpp"

namespace trireme::records {

// The reasons to stop in ascending priority: if ranks have several reasons, the largest value counts.
enum class StopReason { none, time_limit, end_of_job, user_signal, interrupt, terminate, hangup };

// The reason why a run stops. Equal on all ranks.
struct Stop {
    StopReason reason = StopReason::none;
    int rank = 0;  // the lowest rank with this reason
};

// The state of the ranks' GPUs after a step: lists with one entry per rank. A list is empty if some rank does
// not report the quantity. Ranks that share a GPU report equal values.
struct GpuStates {
    std::vector<double> watts = {};
    std::vector<double> clock_mhz = {};
    std::vector<double> memory_clock_mhz = {};
    std::vector<double> celsius = {};
    std::vector<double> used_bytes = {};
};

// The outcome of a step. Equal on all ranks, except for `planning_seconds` and the predictions.
struct StepOutcome {
    std::size_t step = 0;         // counts from 0
    std::size_t coming_step = 0;  // the step whose micro-batches the ranks have compared; counts from 0
    double loss = 0;              // mean per target
    double gradient_norm = 0;
    double learning_rate = 0;
    bool is_skipped = false;  // the update of some stage was skipped because a value was not finite
    std::vector<int> non_finite_ranks = {};  // ranks with a non-finite loss or squared gradient norm
    // Describes the first value that is not finite; empty if the ranks did not search for the value.
    std::string first_non_finite = {};
    setup::StepSize size = {};
    StepWorkCounts work = {};
    // True if the speculative update, which was applied before the gradient norm was known, was rolled back and
    // redone. Empty if updates wait for the gradient norm.
    std::optional<bool> is_rolled_back = {};
    std::size_t microbatches = 0;   // with samples, over all replicas
    double planning_seconds = 0;    // time in which this rank planned the step
    std::size_t padded_tokens = 0;  // computed tokens over all replicas, including padding
    double seconds = 0;             // duration on the slowest rank
    std::optional<double> predicted_seconds =
        {};  // see setup::StepPredictor; set on the rank that writes records
    // See setup::StepFit; like `predicted_seconds`. The bytes after the first are set with --elastic length
    // only.
    std::optional<std::size_t> predicted_bytes = {}, limit_bytes = {}, deficit_bytes = {},
                               recomputed_bytes = {}, offloaded_bytes = {};
    std::optional<plan::Recompute> recompute = {};
    std::optional<ElasticDecision> elastic = {};
    double compute_seconds = 0;                    // in kernels; mean over the ranks
    plan::RankWaits waits = {};                    // mean over the ranks
    std::vector<plan::RankTimes> ranks = {};       // per rank
    std::vector<double> slowness = {};             // per rank, see plan::Observation; empty if no rank is slow
    std::size_t peak_bytes = 0;                    // peak memory since the start; maximum over the ranks
    std::optional<int> rank_with_full_cache = {};  // its node lacks memory for entries of the cache
    // Energy of each rank's device. Energy that a device consumes after its rank has ended the step counts for
    // the next step. Empty if some ranks are not measured.
    std::vector<EnergyPhases> energy_of_ranks = {};
    GpuStates gpus = {};
    std::vector<plan::MeasuredPasses> pass_times = {};  // per rank; empty if no policy needs them
    // Per block: the squared norm of its gradient before clipping; empty if no policy needs it.
    std::vector<double> block_squares = {};
    Stop stop = {};  // stop request that some rank made in this step
};

// Indices of the numbers that each rank reports for a step. Flags are 0 or 1, and times are in seconds.
struct RecordFields {
    enum : std::size_t {
        loss,     // sum over the targets of the rank
        squares,  // the rank's contribution to the squared gradient norm
        is_skipped,
        is_rolled_back,
        seconds,           // of the whole step
        matmuls,           // in matmuls of blocks
        matmul_flops,      // FLOPs of these matmuls
        full_flops,        // FLOPs of the rank's own matmuls without skipping and offloading
        expected_matmuls,  // see plan::RankTimes
        matmul_calls,
        matmul_clock_delay,
        other_kernels,  // in all other kernels
        other_clock_delay,
        wait_pipeline,  // waits: see plan::RankWaits
        wait_tensor,
        wait_data,
        wait_other,
        padded_tokens,  // computed tokens, including padding
        forward_layers,
        backward_layers,
        cached_layers,
        cache_hits,
        cache_misses,
        cache_bytes,
        cache_lacks_memory,  // 1 if the node lacks memory for entries of its cache
        reduced_bytes,
        moment_bytes,  // see StepWorkCounts
        peak_bytes,    // peak memory since the start
        compute_joules,
        blocked_joules,
        idle_joules,  // see EnergyPhases; NaN if not measured
        stop,         // a StopReason
        coming_step,  // PlannedStep::hash of step StepOutcome::coming_step, or its plan if it changes
        count,        // number of the fields above
        // Runs on GPUs append these fields: the state of the rank's GPU, NaN if not reported.
        watts = count,
        clock_mhz,
        memory_clock_mhz,
        celsius,
        used_bytes,
        count_on_gpus
    };
};

// Returns the number of fields per rank for a run whose tensors are in memory space `memory_space`. If a policy
// needs them, the rank's contributions to StepOutcome::block_squares follow the fields, and then the times of
// passes: MeasuredPasses::end, the means, and the waits.
std::size_t count_record_fields(device::MemorySpace memory_space);

// Sets the members of `outcome` that follow from the numbers in `all`. RecordFields are the indices of the
// numbers of a rank of a run whose tensors are in `memory_space`. The caller must have set `outcome.step`,
// `outcome.coming_step`, `outcome.size` and the size of `outcome.block_squares`. Throws ConfigError if the
// ranks have planned different micro-batches for step `outcome.coming_step`.
void add_records(const comm::GatheredNumbers& all, device::MemorySpace memory_space, StepOutcome& outcome);

}  // namespace trireme::records
