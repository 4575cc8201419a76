#include "unit/tools/v100_plans.hpp"

namespace trireme::tools {

PlanConfig make_v100_config(int pipe, std::size_t microbatches, config::Energy energy,
                            const std::string& schedule, config::Reconfigure reconfigure) {
    PlanConfig config;
    config.run.model.name = "gpt2-medium";
    config.run.layout.pipe = pipe;
    config.run.schedule.schedule = schedule;
    config.run.schedule.microbatches = microbatches;
    config.run.costs.cluster = TRIREME_SOURCE_DIR "/perf/clusters/v100-x8.json";
    config.run.costs.stages = {{.clocked = 0.9}};
    config.run.policy.energy = energy;
    config.run.policy.reconfigure = reconfigure;
    return config;
}

}  // namespace trireme::tools
