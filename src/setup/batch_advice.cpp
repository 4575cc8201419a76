#include "trireme/setup/batch_advice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "trireme/base/error.hpp"
#include "trireme/setup/planning.hpp"

namespace trireme::setup {
namespace {

// Returns the number of replicas of the grid, each of which executes --microbatches micro-batches per step.
// Returns 1 without a grid, because --microbatches then counts the micro-batches of all replicas. A grid that
// does not fit the ranks is rejected later.
std::size_t count_grid_replicas(const config::LayoutConfig& layout, int ranks) {
    if (!has_grid(layout)) return 1;
    if (layout.data > 0) return static_cast<std::size_t>(layout.data);
    const long long ranks_per_replica = static_cast<long long>(layout.pipe) * layout.tensor;
    return static_cast<std::size_t>(std::max(1LL, ranks / ranks_per_replica));
}

bool interleaves_single_chunk(const config::RunConfig& config) {
    return config.schedule.schedule == "interleaved" && config.schedule.chunks == 1 &&
           has_grid(config.layout) && config.layout.pipe > 1;
}

std::string make_bubble_warning(const config::RunConfig& config, const plan::Plan& plan, int ranks) {
    constexpr double max_bubble = 0.3;
    constexpr double target_bubble = 0.1;
    const double bubble = predict_schedule_bubble(plan, ranks);
    if (bubble <= max_bubble) return {};
    const std::string warning =
        fmt::format("the schedule leaves ranks idle for {:.0f} % of a step", 100 * bubble);
    if (!has_grid(config.layout)) return warning;
    // On a grid, the idle seconds of a step do not depend on the number of micro-batches. `idle_microbatches`
    // expresses these idle seconds as the number of micro-batches that a rank could compute in them. The
    // advised number of micro-batches is a multiple of --pipe, because some schedules require this.
    const std::size_t microbatches = config.schedule.microbatches;
    const double idle_microbatches = static_cast<double>(microbatches) * bubble / (1 - bubble);
    const auto pipe_size = static_cast<std::size_t>(config.layout.pipe);
    const auto min_microbatches =
        static_cast<std::size_t>(std::floor(idle_microbatches * (1 - target_bubble) / target_bubble)) + 1;
    const std::size_t advised_microbatches = (min_microbatches + pipe_size - 1) / pipe_size * pipe_size;
    const std::size_t replicas = static_cast<std::size_t>(plan.microbatches()) / microbatches;
    const std::size_t min_batch = advised_microbatches * replicas;
    return cat(
        warning, "; --microbatches ", advised_microbatches,
        fmt::format(" would lower this to {:.1f} %",
                    100 * idle_microbatches / (idle_microbatches + static_cast<double>(advised_microbatches))),
        config.run.batch < min_batch ? cat(", with --batch ", min_batch, " or more") : "");
}

}  // namespace

void fit_default_batch(config::RunConfig& config, int ranks) {
    constexpr std::size_t max_samples = std::size_t{1} << 24;  // see check_batch_size()
    config::RunOptions& run = config.run;
    if (run.is_batch_set) return;
    run.is_batch_set = true;
    const std::size_t replicas = count_grid_replicas(config.layout, ranks);
    // If more than max_samples samples are required, the default size stays, and check_batch_is_enough() later
    // rejects the default.
    if (config.schedule.microbatches > max_samples / replicas) return;
    const std::size_t min_samples = replicas * config.schedule.microbatches;
    if (min_samples <= run.batch) return;
    run.batch = min_samples;
    run.is_batch_raised = true;
}

std::string make_idle_warning(const config::RunConfig& config, const plan::Plan& plan, int ranks) {
    const std::string bubble_warning = make_bubble_warning(config, plan, ranks);
    if (!interleaves_single_chunk(config)) return bubble_warning;
    return cat("--schedule interleaved with --chunks 1 equals 1f1b; --chunks 2 gives each rank two stages",
               bubble_warning.empty() ? "" : "; ", bubble_warning);
}

}  // namespace trireme::setup
