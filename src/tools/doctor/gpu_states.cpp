#include "tools/doctor/gpu_states.hpp"

namespace trireme::doctor {
namespace {

GpuState state_of(const Gpu& gpu, const std::string& library) {
    if (gpu.bus_id.empty()) return {.complaint = "the system does not say where GPU " + gpu.id + " is"};
    const GpuMeterSearch search = find_gpu_meter(gpu.bus_id, library);
    if (!search.meter) return {.complaint = search.complaint};
    return {
        .driver = search.meter->driver(), .reading = search.meter->read(), .limits = search.meter->limits()};
}

}  // namespace

std::vector<GpuState> states_of(const std::vector<Gpu>& gpus, const std::string& library) {
    std::vector<GpuState> states;
    for (const Gpu& gpu : gpus) states.push_back(state_of(gpu, library));
    return states;
}

void add_what_cuda_tells(std::vector<Gpu>& gpus, const std::vector<GpuFacts>& told) {
    if (gpus.size() != told.size()) return;
    for (std::size_t i = 0; i < gpus.size(); ++i) {
        if (!gpus[i].bus_id.empty()) continue;
        gpus[i].bus_id = told[i].bus_id;
        gpus[i].model = told[i].name;
    }
}

}  // namespace trireme::doctor
