#include "trireme/setup/batch_advice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "trireme/base/error.hpp"
#include "trireme/setup/planning.hpp"

namespace trireme::setup {
namespace {

// Returns the number of replicas of the options. A grid that does not fit the ranks is rejected later.
std::size_t replicas_of_options(const config::LayoutConfig& layout, int ranks) {
    if (!has_grid(layout)) return 1;  // --microbatches counts all replicas together
    if (layout.data > 0) return static_cast<std::size_t>(layout.data);
    const long long row = static_cast<long long>(layout.pipe) * layout.tensor;
    return static_cast<std::size_t>(std::max(1LL, ranks / row));
}

bool is_not_interleaved(const config::RunConfig& config) {
    return config.schedule.schedule == "interleaved" && config.schedule.chunks == 1 &&
           has_grid(config.layout) && config.layout.pipe > 1;
}

std::string much_idle_time(const config::RunConfig& config, const plan::Plan& plan, int ranks) {
    constexpr double much = 0.3;
    constexpr double little = 0.1;
    const double bubble = bubble_of_schedule(plan, ranks);
    if (bubble <= much) return {};
    const std::string warning =
        fmt::format("the schedule leaves ranks idle for {:.0f} % of a step", 100 * bubble);
    if (!has_grid(config.layout)) return warning;
    // On a grid the idle time does not depend on the number of micro-batches. Some schedules need a multiple of
    // the number of pipeline stages.
    const std::size_t given = config.schedule.microbatches;
    const double idle = static_cast<double>(given) * bubble / (1 - bubble);  // in micro-batches
    const auto stages = static_cast<std::size_t>(config.layout.pipe);
    const auto least = static_cast<std::size_t>(std::floor(idle * (1 - little) / little)) + 1;
    const std::size_t enough = (least + stages - 1) / stages * stages;
    const std::size_t batch = enough * (static_cast<std::size_t>(plan.microbatches()) / given);
    return cat(warning, "; --microbatches ", enough,
               fmt::format(" would bring that to {:.1f} %", 100 * idle / (idle + static_cast<double>(enough))),
               config.run.batch < batch ? cat(", with --batch ", batch, " or more") : "");
}

}  // namespace

void fit_default_batch(config::RunConfig& config, int ranks) {
    constexpr std::size_t most_samples = std::size_t{1} << 24;  // see check_batch_size()
    config::RunOptions& run = config.run;
    if (run.is_batch_set) return;
    run.is_batch_set = true;
    const std::size_t replicas = replicas_of_options(config.layout, ranks);
    // The function check_batch_is_enough() rejects this later.
    if (config.schedule.microbatches > most_samples / replicas) return;
    const std::size_t needed = replicas * config.schedule.microbatches;
    if (needed <= run.batch) return;
    run.batch = needed;
    run.is_batch_raised = true;
}

std::string idle_warning(const config::RunConfig& config, const plan::Plan& plan, int ranks) {
    const std::string idle = much_idle_time(config, plan, ranks);
    if (!is_not_interleaved(config)) return idle;
    return cat("interleaved with --chunks 1 is 1f1b; --chunks 2 gives each rank two stages",
               idle.empty() ? "" : "; ", idle);
}

}  // namespace trireme::setup
