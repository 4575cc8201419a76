// Layouts by what layers were measured to cost.
#pragma once

#include <vector>

#include "trireme/config/config.hpp"
#include "trireme/model/config.hpp"
#include "trireme/plan/plan.hpp"
#include "trireme/plan/rank_profiles.hpp"

namespace trireme::setup {

// Whether --partition asks for a cut by --profile, or for stages with their own numbers of replicas.
bool is_measured(const config::LayoutConfig& layout);
bool is_pipedream(const config::LayoutConfig& layout);

// What --profile names. Throws ConfigError where it names nothing, or a profile of another model, and likewise:
// see read_profiles().
plan::RankProfiles profiles_for(const config::RunConfig& config, const model::ModelConfig& model);

// The layers of each stage of a grid: see balanced_cuts(). `trial` is a plan for the grid, wherever it cuts the
// layers: its programs say how much a stage keeps at once. Several stages of a rank share --memory-limit
// evenly. Of a stage the rank counts whose device is the slowest.
std::vector<std::size_t> measured_cuts(const config::RunConfig& config, const model::ModelConfig& model,
                                       const layout::Grid& grid, const plan::Plan& trial);

// Of all ranks: see share_layers(). Throws ConfigError where their devices are not alike.
layout::Layout pipedream_layout(const config::RunConfig& config, const model::ModelConfig& model, int ranks);

}  // namespace trireme::setup
