// NVIDIA's devices as the system shows them, without CUDA, and their state as the driver reports it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "trireme/device/gpu.hpp"
#include "trireme/device/gpu_meter.hpp"

namespace trireme::tools::doctor {

struct Gpu {
    std::string model = "NVIDIA device";
    std::string id = {};      // "GPU-5d1c...", or its number where the system tells no more
    std::string bus_id = {};  // "0000:17:00.0"; empty where the system does not tell
    bool operator==(const Gpu&) const = default;
};

// How many the machine shows, whoever may use them; `root` is "/" but in tests.
int gpus_shown(const std::filesystem::path& root);

// Those of the driver that this process may open, in the order of their numbers.
std::vector<Gpu> gpus_of_machine(const std::filesystem::path& root);

// Those of them that CUDA would show where CUDA_VISIBLE_DEVICES is `visible`: all without it; otherwise the
// ones that it names by number or by id, up to the first that is none. A slice of a device ("MIG-...") counts
// as one.
std::vector<Gpu> visible_gpus(const std::vector<Gpu>& all, const std::optional<std::string>& visible);

// Which one the given rank of its node takes, as in a run: the only one where it sees one, as under
// --gpus-per-task=1, and otherwise the one of its number, from the first one on again where ranks are more.
// None where it sees none.
std::optional<Gpu> gpu_of_rank(const std::vector<Gpu>& visible, int local_rank);

// How GPUs are at the moment, as NVIDIA's driver tells.
struct GpuState {
    std::string driver = {};     // "550.54.15"
    std::string complaint = {};  // why nothing is known of it; empty: something is
    device::GpuReading reading = {};
    device::GpuLimits limits = {};

    bool operator==(const GpuState&) const = default;
};

// Of each of them. Where the system does not say where a GPU is, nothing is known of it.
std::vector<GpuState> states_of(const std::vector<Gpu>& gpus,
                                const std::string& library = device::GpuMeter::standard_library);

// Names and places that the system does not tell, where CUDA sees as many GPUs: it has them in the same order.
void add_what_cuda_tells(std::vector<Gpu>& gpus, const std::vector<device::GpuFacts>& told);

}  // namespace trireme::tools::doctor
