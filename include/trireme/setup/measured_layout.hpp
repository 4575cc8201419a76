// Layouts based on the measured cost of layers.
#pragma once

#include <vector>

#include "trireme/config/config.hpp"
#include "trireme/model/config.hpp"
#include "trireme/plan/plan.hpp"
#include "trireme/plan/rank_profiles.hpp"

namespace trireme::setup {

// True if --partition asks for a cut by --profile, or for stages with their own numbers of replicas.
bool is_measured(const config::LayoutConfig& layout);
bool is_pipedream(const config::LayoutConfig& layout);

// Reads the files of --profile. Throws ConfigError if there are none, if one is of another model, and for the
// reasons of read_profiles().
plan::RankProfiles profiles_for(const config::RunConfig& config, const model::ModelConfig& model);

// Returns the number of layers of each stage of a grid: see balanced_cuts(). `trial` is a plan of the same grid
// with any cut; its programs tell how many micro-batches a stage keeps in flight. The stages of a rank share
// --memory-limit evenly. A stage is as slow as its slowest device.
std::vector<std::size_t> measured_cuts(const config::RunConfig& config, const model::ModelConfig& model,
                                       const layout::Grid& grid, const plan::Plan& trial);

// Returns a layout of all ranks: see share_layers(). Throws ConfigError if their devices differ.
layout::Layout pipedream_layout(const config::RunConfig& config, const model::ModelConfig& model, int ranks);

}  // namespace trireme::setup
