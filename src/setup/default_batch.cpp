#include "trireme/setup/default_batch.hpp"

#include <algorithm>

#include "trireme/setup/planning.hpp"

namespace trireme {
namespace {

// Number of replicas by the options. A grid that does not fit the ranks is refused when it is made.
std::size_t replicas_of_options(const LayoutConfig& layout, int ranks) {
    if (!has_grid(layout)) return 1;  // --microbatches are those of all replicas
    if (layout.data > 0) return static_cast<std::size_t>(layout.data);
    const long long row = static_cast<long long>(layout.pipe) * layout.tensor;
    return static_cast<std::size_t>(std::max(1LL, ranks / row));
}

}  // namespace

void fit_default_batch(RunConfig& config, int ranks) {
    constexpr std::size_t most_samples = std::size_t{1} << 24;  // see check_batch_size()
    RunOptions& run = config.run;
    if (run.is_batch_set) return;
    run.is_batch_set = true;
    const std::size_t replicas = replicas_of_options(config.layout, ranks);
    if (config.schedule.microbatches > most_samples / replicas) return;  // refused for having too few samples
    const std::size_t needed = replicas * config.schedule.microbatches;
    if (needed <= run.batch) return;
    run.batch = needed;
    run.is_batch_raised = true;
}

}  // namespace trireme
