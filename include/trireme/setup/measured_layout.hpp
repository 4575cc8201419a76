// Layouts based on the measured costs of layers.
#pragma once

#include <vector>

#include "trireme/config/config.hpp"
#include "trireme/layout/partition.hpp"
#include "trireme/model/config.hpp"
#include "trireme/plan/plan.hpp"
#include "trireme/plan/rank_profiles.hpp"

namespace trireme::setup {

// True if --partition is `measured` and --layout is not set: the layers are cut into the stages of the grid by
// their costs in --profile.
bool uses_measured_partition(const config::LayoutConfig& layout);
// True if --partition is `pipedream` and --layout is not set: the planner of PipeDream chooses the layers and
// the number of replicas of each stage.
bool uses_pipedream_partition(const config::LayoutConfig& layout);

// Reads the files of --profile. Throws ConfigError if no file is set, or if a file was measured with another
// model than `model`. Also throws the errors of read_profiles().
plan::RankProfiles read_fitting_profiles(const config::RunConfig& config, const model::ModelConfig& model);

// The counts that determine the memory of the optimizer state and the time of an update on each rank.
struct OptimizerSharding {
    std::size_t state_values = 2;       // optimizer state values per parameter
    std::size_t updating_replicas = 1;  // number of replicas that divide optimizer state and updates
    std::size_t tensor_ranks = 1;       // number of ranks that share a replica's tensors evenly
};

// Returns the load of each layer on one rank, for find_balanced_cuts() and plan_pipedream_layout(). Seconds and
// parameters are divided by the number of tensor ranks. Output rows, activations and workspace are not divided.
std::vector<layout::LayerLoad> compute_layer_loads(const plan::Profile& profile,
                                                   const OptimizerSharding& sharding);

// Returns the number of layers of each stage of `grid`: see find_balanced_cuts(). `trial` is a plan for this
// grid with any number of layers per stage. The programs of `trial` determine how many in-flight micro-batches
// and how many message buffers a stage needs. The stages of a rank share --memory-limit evenly. A stage is as
// slow as its slowest device. Throws the errors of read_fitting_profiles() and find_balanced_cuts().
std::vector<std::size_t> find_measured_cuts(const config::RunConfig& config, const model::ModelConfig& model,
                                            const layout::Grid& grid, const plan::Plan& trial);

// Returns the layout that plan_pipedream_layout() chooses for `ranks` ranks. Throws ConfigError if --profile
// assigns different device kinds to these ranks. Also throws the errors of the two functions
// read_fitting_profiles() and plan_pipedream_layout().
layout::Layout make_pipedream_layout(const config::RunConfig& config, const model::ModelConfig& model,
                                     int ranks);

}  // namespace trireme::setup
