#include <algorithm>
#include <numeric>

#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/setup/measured_layout.hpp"
#include "trireme/setup/planning.hpp"

namespace trireme::setup {
namespace {

// Resets options that have one value per stage to their defaults, because the number of stages changes. Keeps
// the options that the user has set for the resumed run.
void reset_options_per_stage(config::RunConfig& config) {
    const std::set<std::string>& overridden_options = config.resumed_options->overridden_options;
    config::LayoutConfig& layout = config.layout;
    if (layout.partition.find_first_not_of("0123456789.,") == std::string::npos)
        layout.partition = config::LayoutConfig{}.partition;
    if (layout.recompute.size() > 1 && !overridden_options.contains("recompute"))
        layout.recompute = config::LayoutConfig{}.recompute;
    if (config.costs.stages.size() > 1 && !overridden_options.contains("cost")) config.costs.stages.clear();
}

bool has_layout_option(const std::set<std::string>& overridden_options) {
    for (const char* const name : {"pipe", "data", "tensor", "layout", "partition", "chunks"})
        if (overridden_options.contains(name)) return true;
    return false;
}

}  // namespace

void fit_resumed_layout(config::RunConfig& config, int ranks) {
    if (!config.resumed_options || has_layout_option(config.resumed_options->overridden_options)) return;
    const int old_ranks = config.resumed_options->saved.ranks;
    config::LayoutConfig& layout = config.layout;
    if (old_ranks == ranks || old_ranks == 0 || uses_pipedream_partition(layout)) return;
    const bool had_grid = has_grid(layout);
    const config::LayoutConfig old_grid = had_grid ? layout : config::LayoutConfig{};
    layout.tensor = std::gcd(old_grid.tensor, ranks);
    layout.pipe = std::gcd(old_grid.pipe, ranks / layout.tensor);
    layout.data = ranks / (layout.tensor * layout.pipe);
    layout.layout.clear();
    if (!had_grid || layout.pipe != old_grid.pipe) reset_options_per_stage(config);
    // Keeps the number of micro-batches per step, up to rounding. --microbatches is the number per replica of a
    // grid, or without a grid the number per step.
    const int old_replicas = had_grid ? std::max(1, old_ranks / (old_grid.pipe * old_grid.tensor)) : 1;
    std::size_t& microbatches = config.schedule.microbatches;
    if (!config.resumed_options->overridden_options.contains("microbatches"))
        microbatches = std::max<std::size_t>(
            1, microbatches * static_cast<std::size_t>(old_replicas) / static_cast<std::size_t>(layout.data));
    config.resumed_options->layout =
        cat("the run had ", format_count(static_cast<std::size_t>(old_ranks), "rank"), " and now has ", ranks,
            ", so it uses --pipe ", layout.pipe, " --data ", layout.data, " --tensor ", layout.tensor,
            " --microbatches ", microbatches, "; set these options to change the layout");
}

}  // namespace trireme::setup
