// Layouts by what layers were measured to cost.
#pragma once

#include <vector>

#include "trireme/config/config.hpp"
#include "trireme/model/config.hpp"
#include "trireme/plan/plan.hpp"
#include "trireme/plan/rank_profiles.hpp"

namespace trireme {

// Whether --partition asks for a cut by --profile, or for stages with their own numbers of replicas.
bool is_measured(const LayoutConfig& layout);
bool is_pipedream(const LayoutConfig& layout);

// What --profile names. Throws ConfigError where it names nothing, or a profile of another model, and likewise:
// see read_profiles().
RankProfiles profiles_for(const RunConfig& config, const ModelConfig& model);

// The layers of each stage of a grid: see balanced_cuts(). `trial` is a plan for the grid, wherever it cuts the
// layers: its programs say how much a stage keeps at once. Several stages of a rank share --memory-limit
// evenly. Of a stage the rank counts whose device is the slowest.
std::vector<std::size_t> measured_cuts(const RunConfig& config, const ModelConfig& model, const Grid& grid,
                                       const Plan& trial);

// Of all ranks: see share_layers(). Throws ConfigError where their devices are not alike.
Layout pipedream_layout(const RunConfig& config, const ModelConfig& model, int ranks);

}  // namespace trireme
