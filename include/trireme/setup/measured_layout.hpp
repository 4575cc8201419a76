// Layouts based on the measured cost of layers.
#pragma once

#include <vector>

#include "trireme/config/config.hpp"
#include "trireme/model/config.hpp"
#include "trireme/plan/plan.hpp"
#include "trireme/plan/rank_profiles.hpp"

namespace trireme::setup {

// True if --partition is `measured`: the stages of a grid are cut by the costs of --profile.
bool uses_measured_partition(const config::LayoutConfig& layout);
// True if --partition is `pipedream`: the planner also chooses each stage's own number of replicas.
bool uses_pipedream_partition(const config::LayoutConfig& layout);

// Reads the files of --profile. Throws ConfigError if there are none, if one is of another model, and for the
// reasons of read_profiles().
plan::RankProfiles read_fitting_profiles(const config::RunConfig& config, const model::ModelConfig& model);

// Returns the number of layers of each stage of a grid: see find_balanced_cuts(). `trial` is a plan of the same
// grid with any number of layers per stage: its programs determine how many micro-batches a stage keeps in
// flight. The stages of a rank share --memory-limit evenly. A stage is as slow as its slowest device.
std::vector<std::size_t> find_measured_cuts(const config::RunConfig& config, const model::ModelConfig& model,
                                            const layout::Grid& grid, const plan::Plan& trial);

// Returns a layout of `ranks` ranks: see plan_pipedream_layout(). Throws ConfigError if --profile has different
// device kinds for these ranks.
layout::Layout make_pipedream_layout(const config::RunConfig& config, const model::ModelConfig& model,
                                     int ranks);

}  // namespace trireme::setup
