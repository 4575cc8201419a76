#include "app/simulate_options.hpp"

#include "app/values.hpp"
#include "trireme/base/error.hpp"

namespace trireme::app {

std::vector<Option> device_cost_options(RunConfig& config) {
    CostConfig& costs = config.costs;
    return {
        text({"cluster", "FILE.json",
              "a described cluster: its devices say what kernels take (`trireme simulate`) and how much memory "
              "a rank has (`trireme plan`)"},
             costs.cluster),
        needing(choice({"network", "",
                        "of the cluster: as its file describes it, or free: messages take no time, which shows "
                        "what they cost"},
                       costs.network, {{"described", NetworkKind::described}, {"free", NetworkKind::free}}),
                [&costs] { return !costs.cluster.empty(); },
                {"a simulated cluster", "--cluster FILE (`trireme simulate`)"}),
        needing(
            choice(
                {"charge", "",
                 "of ghosts: for every kernel, or for a pass like an earlier one as a whole; auto: that "
                 "beyond 64 ranks"},
                costs.charging,
                {{"auto", Charging::automatic}, {"kernels", Charging::kernels}, {"passes", Charging::passes}}),
            [&config] { return config.precision.device == DeviceKind::ghost; },
            {"a simulated run that computes no values", "--math off (`trireme simulate`)"})};
}

OptionGroup simulate_options(SimulateConfig& config) {
    return {
        "simulate",
        {
            whole_number({"ranks", "N", "of the cluster's devices, node by node; one rank each"}, config.ranks,
                         1),
            on_off({"math", "",
                    "arithmetic is done, so that the losses are those of a run; off: shapes and costs alone"},
                   config.does_math),
        }};
}

void check_simulate_options(const SimulateConfig& config) {
    if (config.cluster.empty()) {
        throw ConfigError(
            "no cluster is given; describe one with --cluster FILE.json (perf/clusters has some)");
    }
    if (config.ranks == 0) throw ConfigError("nothing says how many ranks there are; give --ranks N");
}

}  // namespace trireme::app
