#include "app/simulate_options.hpp"

#include "app/values.hpp"
#include "trireme/base/error.hpp"

namespace trireme::app {

OptionGroup simulate_options(SimulateConfig& config) {
    return {"simulate",
            {
                whole_number({"ranks", "N", "of the cluster's devices, node by node; one rank each"},
                             config.ranks, 1),
                on_off({"math", "",
                        "arithmetic is done, so that the losses are those of a run; off is not there yet"},
                       config.does_math),
            }};
}

void check_simulate_options(const SimulateConfig& config) {
    if (config.cluster.empty()) {
        throw ConfigError(
            "no cluster is given; describe one with --cluster FILE.json (perf/clusters has some)");
    }
    if (config.ranks == 0) throw ConfigError("nothing says how many ranks there are; give --ranks N");
    if (!config.does_math) {
        throw ConfigError("--math off, a run of shapes and costs alone, is not there yet; leave it out");
    }
}

}  // namespace trireme::app
