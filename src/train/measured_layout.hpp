// Layouts by what layers were measured to cost.
#pragma once

#include <vector>

#include "trireme/model/config.hpp"
#include "trireme/plan/plan.hpp"
#include "trireme/plan/profile.hpp"
#include "trireme/train/config.hpp"

namespace trireme {

// Whether --partition asks for a cut by --profile, or for stages with their own numbers of replicas.
bool is_measured(const LayoutConfig& layout);
bool is_pipedream(const LayoutConfig& layout);

// Throws ConfigError where --profile was measured with other numbers than the run computes with.
void check_numbers(const Profile& profile, const RunConfig& config);

// What --profile names. Throws ConfigError where it names nothing, or a profile of another model or of other
// numbers.
Profile profile_for(const RunConfig& config, const ModelConfig& model);

// The layers of each stage of a grid: see balanced_cuts(). `trial` is a plan for the grid, wherever it cuts the
// layers: its programs say how much a stage keeps at once. Several stages of a rank share --memory-limit
// evenly.
std::vector<std::size_t> measured_cuts(const RunConfig& config, const ModelConfig& model, const Grid& grid,
                                       const Plan& trial);

// Of all ranks: see share_layers().
Layout pipedream_layout(const RunConfig& config, const ModelConfig& model, int ranks);

}  // namespace trireme
