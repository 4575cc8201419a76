#include "app/options/choices.hpp"
#include "app/options/options.hpp"
#include "app/options/values.hpp"
#include "trireme/base/error.hpp"
#include "trireme/schedule/catalog.hpp"

namespace trireme::app {

std::vector<Option> make_device_cost_options(config::RunConfig& config) {
    config::CostConfig& costs = config.costs;
    const auto has_cluster = [&costs] { return !costs.cluster.empty(); };
    const auto chooses_clocks = [&config] { return config.policy.energy != config::Energy::baseline; };
    const OptionNeed needed_energy{"clocks that --energy chooses", "--energy uniform or envelope"};
    return {
        make_text_option({"cluster", "FILE.json",
                          "description of a cluster: its devices and links; perf/clusters has examples"},
                         costs.cluster),
        make_conditional(make_choice_option(
                             {"network", "", "time of messages"}, costs.network,
                             {{"described", config::NetworkKind::described, "as the cluster file describes it"},
                              {"free", config::NetworkKind::zero_time,
                               "zero; compare with `described` to see how much communication is exposed"}}),
                         [&costs] { return !costs.cluster.empty(); },
                         {"a simulated cluster", "--cluster FILE (`trireme simulate`)"}),
        make_conditional(
            make_choice_option(
                {"charge", "", "how time is charged with --math off"}, costs.charging,
                {{"auto", config::Charging::automatic, "kernels for up to 64 ranks, passes for more"},
                 {"kernels", config::Charging::kernels, "kernel by kernel"},
                 {"passes", config::Charging::passes,
                  "pass by pass; a pass takes as long as an equal earlier pass"}}),
            [&config] { return config.precision.device == config::DeviceKind::ghost; },
            {"a simulated run that computes no values", "--math off (`trireme simulate`)"}),
        make_choice_option(
            {"energy", "", "clocks of the devices"}, config.policy.energy,
            {{"baseline", config::Energy::baseline, "only those that the schedule file sets"},
             {"uniform", config::Energy::uniform,
              "each rank has the clock at which it needs the least energy for a step"},
             {"envelope", config::Energy::envelope,
              "the same, but the last stage, and the first forward and the last backward pass of each "
              "rank, keep the highest clock; needs --schedule 1f1b or envpipe"}}),
        make_conditional(
            make_choice_option(
                {"reconfigure", "",
                 "rule that raises clocks on the critical path after each step, "
                 "until none can be raised; needs "
                 "--energy, and --schedule 1f1b or envpipe"},
                config.policy.reconfigure,
                {{"default", config::Reconfigure::none, "raises none"},
                 {"greedy", config::Reconfigure::greedy, "the last clock that can be raised, by 90 MHz"},
                 {"balanced", config::Reconfigure::balanced,
                  "the lowest clocks that can be raised, by 30 MHz"}}),
            [=] { return has_cluster() || chooses_clocks(); }, needed_energy),
        make_conditional(
            make_text_option(
                {"clock-costs", "auto|sweep|FILE.json",
                 "source of the seconds and joules of passes by clock: `auto` (--cost or the "
                 "cluster file; on GPUs, a sweep), `sweep` (the first steps measure one clock after "
                 "the other), or the file clock_costs.json that a sweep has written"},
                config.policy.clock_costs),
            chooses_clocks, needed_energy),
        make_conditional(
            make_number_option(
                {"clock-every", "SECONDS",
                 "minimum time between two clock changes of a device: `plan` and `simulate` merge shorter "
                 "runs of passes, `train` delays the change"},
                config.policy.clock_every, make_range_from_to_below(0, 60)),
            [&config] {
                const bool is_file = schedule::find_schedule(config.schedule.schedule) == nullptr &&
                                     config.schedule.schedule != schedule::searched_schedule_name;
                return is_file || config.policy.energy != config::Energy::baseline ||
                       !config.policy.decisions.empty();
            },
            {"clocks that change during a step", "--energy, --decisions FILE or --schedule FILE.csv"})};
}

OptionGroup make_simulate_options(tools::SimulateConfig& config) {
    return {"simulate",
            {
                make_integer_option(
                    {"ranks", "N", "number of ranks; each uses one device of the cluster, node by node"},
                    config.ranks, 1),
                make_choice_option(
                    {"math", "", "arithmetic"}, config.does_math,
                    {{"on", true, "performed, so that the losses are those of a real run"},
                     {"off", false, "skipped: shapes and costs only, for large models and many ranks"}}),
            }};
}

void check_simulate_options(const tools::SimulateConfig& config) {
    if (config.cluster.empty()) {
        throw ConfigError(
            "no cluster is given; name its description with --cluster FILE.json (perf/clusters has examples)");
    }
    if (config.ranks == 0) throw ConfigError("nothing says how many ranks there are; give --ranks N");
}

}  // namespace trireme::app
