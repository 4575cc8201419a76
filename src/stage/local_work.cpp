#include "trireme/stage/local_work.hpp"

#include <utility>

namespace trireme::stage {

std::vector<Stage> make_stages(const LocalWork& work) {
    std::vector<Stage> stages;
    for (const StageSpec& spec : work.specs) stages.emplace_back(work.model, spec);
    return stages;
}

LocalParameters make_local_parameters(const LocalWork& work, device::MemorySpace memory_space,
                                      std::optional<model::ParameterTensors> values) {
    std::vector<model::ParameterSpec> all;
    for (const Stage& stage : make_stages(work))
        for (model::ParameterSpec& spec : stage.parameters()) all.push_back(std::move(spec));
    return {std::move(all), work.variant.dtype, memory_space, work.copies, std::move(values)};
}

}  // namespace trireme::stage
