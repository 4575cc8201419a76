// NVIDIA GPUs as the system shows them without CUDA, and their state as the driver reports it.
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
    std::string id = {};      // "GPU-5d1c...", or the device number if the system hides it
    std::string bus_id = {};  // "0000:17:00.0"; empty if unknown
    bool operator==(const Gpu&) const = default;
};

// Returns the number of GPUs that the machine shows, usable or not. `root` is "/" outside of tests.
int gpus_shown(const std::filesystem::path& root);

// Returns the GPUs that this process may open, by device number.
std::vector<Gpu> gpus_of_machine(const std::filesystem::path& root);

// Returns the GPUs that CUDA would show for this value of CUDA_VISIBLE_DEVICES: all if it is unset. Otherwise
// it lists them by number or by a prefix of their id; the list ends at the first invalid entry. A MIG slice
// ("MIG-...") counts as one GPU.
std::vector<Gpu> visible_gpus(const std::vector<Gpu>& all, const std::optional<std::string>& visible);

// Returns the GPU that a rank of this node takes in a run: number `local_rank`, modulo their number. Under
// --gpus-per-task=1 a rank sees only one. Empty if it sees none.
std::optional<Gpu> gpu_of_rank(const std::vector<Gpu>& visible, int local_rank);

// The present state of a GPU as NVIDIA's driver reports it.
struct GpuState {
    std::string driver = {};     // "550.54.15"
    std::string complaint = {};  // why its state is unknown; empty if known
    device::GpuReading reading = {};
    device::GpuLimits limits = {};

    bool operator==(const GpuState&) const = default;
};

// Returns the state of each GPU. It is unknown for a GPU without a bus_id.
std::vector<GpuState> states_of(const std::vector<Gpu>& gpus,
                                const std::string& library = device::GpuMeter::standard_library);

// Fills in models and bus ids that the system hides. CUDA lists GPUs in the same order, so this applies only
// if it sees equally many.
void add_what_cuda_tells(std::vector<Gpu>& gpus, const std::vector<device::GpuFacts>& told);

}  // namespace trireme::tools::doctor
