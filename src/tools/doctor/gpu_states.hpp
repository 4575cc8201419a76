// How GPUs are at the moment, as NVIDIA's driver tells.
#pragma once

#include <string>
#include <vector>

#include "tools/doctor/gpus.hpp"
#include "trireme/device/gpu.hpp"
#include "trireme/device/gpu_meter.hpp"

namespace trireme::doctor {

struct GpuState {
    std::string driver = {};     // "550.54.15"
    std::string complaint = {};  // why nothing is known of it; empty: something is
    GpuReading reading = {};
    GpuLimits limits = {};

    bool operator==(const GpuState&) const = default;
};

// Of each of them. Where the system does not say where a GPU is, nothing is known of it.
std::vector<GpuState> states_of(const std::vector<Gpu>& gpus,
                                const std::string& library = GpuMeter::standard_library);

// Names and places that the system does not tell, where CUDA sees as many GPUs: it has them in the same order.
void add_what_cuda_tells(std::vector<Gpu>& gpus, const std::vector<GpuFacts>& told);

}  // namespace trireme::doctor
