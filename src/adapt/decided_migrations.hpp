// Migrations and skipped work of a decision.
#pragma once

#include <vector>

#include "trireme/setup/setup.hpp"

namespace trireme::adapt {

// Checks the migrations and stores them in `plan`.
void set_migrations(const std::vector<layout::Migration>& migrations, int ranks, plan::Plan& plan);

// Checks `fractions` and stores them in `plan`. `fractions` has one entry per rank: the fraction of its matmuls
// that the rank does not compute itself. The caller must set plan.migrations first, because work that helper
// ranks compute does not count as skipped.
void set_skipped_fractions(const std::vector<double>& fractions, int ranks, plan::Plan& plan);

// Throws ConfigError if ranks with migrations exceed --memory-limit. The plan itself was checked without
// migrations.
void check_memory_of_migrations(const setup::Job& job, const setup::PlanState& next);

}  // namespace trireme::adapt
