// The memory limits of ranks with --elastic length, and the means by which steps are fitted into them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "trireme/config/config.hpp"
#include "trireme/setup/setup.hpp"

namespace trireme::setup {

inline bool is_elastic(const config::RunConfig& config) { return is_elastic_by_length(config.policy); }

// Returns the memory of each rank's device, simulated or real; empty if it is not known.
std::vector<std::size_t> find_device_memory(const config::RunConfig& config,
                                            const std::optional<SimulatedDevices>& devices, int ranks);

// Returns the limit of each rank: --memory-limit if set. Otherwise the limit of the resumed run if the number
// of ranks is equal, because free memory differs a little at each start, and the run would choose other
// recomputation. Otherwise the memory of the rank's device. Empty without --elastic length. Throws ConfigError
// if no limit is known, or if a limit of the resumed run exceeds the memory that the device has free now.
std::vector<std::size_t> find_memory_limits(const config::RunConfig& config,
                                            const std::optional<SimulatedDevices>& devices, int ranks);

// Throws ConfigError if --elastic length is set, but model or schedule does not support it.
void check_elastic(const config::RunConfig& config, const model::ModelConfig& model, const plan::Plan& plan);

// Returns why optimizer state is not offloaded in steps of `plan`; an empty text if it may be offloaded. Throws
// ConfigError if --elastic-means demands offload, and it is not possible.
std::string explain_no_offload(const Job& job, const plan::Plan& plan);
// Returns the link over which the optimizer state of a rank is offloaded: that of the cluster file in a
// simulation, otherwise a typical one. Requires that it may be offloaded.
layout::Link find_host_link(const Job& job, int rank);

// Describes, for users, the limit and the means; an empty text without --elastic length.
std::string describe_elastic(const Job& job, const plan::Plan& plan);

// Returns why a rank exceeds its limit with the largest micro-batches of `state`, even with the recomputation
// and the offload that need the least memory. Returns an empty text if all ranks are within their limits.
std::string explain_lack_for_largest_microbatches(const Job& job, const PlanState& state);

// Sets PlanState::step_limits for the limits of `job`, which may be empty.
void limit_steps(const Job& job, PlanState& state);

}  // namespace trireme::setup
