#include <algorithm>
#include <numeric>

#include "trireme/base/error.hpp"
#include "trireme/setup/measured_layout.hpp"
#include "trireme/setup/planning.hpp"

namespace trireme::setup {
namespace {

// Resets options per stage, which do not fit another number of stages.
void forget_single_stages(config::RunConfig& config) {
    const std::set<std::string>& given = config.resumed->given;
    config::LayoutConfig& layout = config.layout;
    if (layout.partition.find_first_not_of("0123456789.,") == std::string::npos)
        layout.partition = config::LayoutConfig{}.partition;
    if (layout.recompute.size() > 1 && !given.contains("recompute"))
        layout.recompute = config::LayoutConfig{}.recompute;
    if (config.costs.stages.size() > 1 && !given.contains("cost")) config.costs.stages.clear();
}

bool gives_layout(const std::set<std::string>& given) {
    for (const char* const name : {"pipe", "data", "tensor", "layout", "partition", "chunks"})
        if (given.contains(name)) return true;
    return false;
}

}  // namespace

void fit_resumed_layout(config::RunConfig& config, int ranks) {
    if (!config.resumed || gives_layout(config.resumed->given)) return;
    const int former = config.resumed->saved.ranks;
    config::LayoutConfig& layout = config.layout;
    if (former == ranks || former == 0 || is_pipedream(layout)) return;
    const bool had_grid = has_grid(layout);
    const config::LayoutConfig was = had_grid ? layout : config::LayoutConfig{};
    layout.tensor = std::gcd(was.tensor, ranks);
    layout.pipe = std::gcd(was.pipe, ranks / layout.tensor);
    layout.data = ranks / (layout.tensor * layout.pipe);
    layout.layout.clear();
    if (!had_grid || layout.pipe != was.pipe) forget_single_stages(config);
    const int replicas = had_grid ? std::max(1, former / (was.pipe * was.tensor)) : 1;
    std::size_t& microbatches = config.schedule.microbatches;
    if (!config.resumed->given.contains("microbatches"))
        microbatches = std::max<std::size_t>(
            1, microbatches * static_cast<std::size_t>(replicas) / static_cast<std::size_t>(layout.data));
    config.resumed->layout =
        cat("the run had ", former, " ranks, and these are ", ranks, ": --pipe ", layout.pipe, " --data ",
            layout.data, " --tensor ", layout.tensor, " --microbatches ", microbatches,
            " are chosen anew; give others to change that");
}

}  // namespace trireme::setup
