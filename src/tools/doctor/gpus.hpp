// Finds NVIDIA GPUs without CUDA, in /proc and /dev, and reads their state from the driver.
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
    std::string id = {};      // "GPU-5d1c...", or the device number if the system hides the id
    std::string bus_id = {};  // "0000:17:00.0"; empty if unknown
    bool operator==(const Gpu&) const = default;
};

// Returns the number of GPUs of this node, including those that this process may not open. Here and below,
// `root` is "/", or, in tests, a folder that contains proc and dev.
int count_gpus(const std::filesystem::path& root);

// Returns the GPUs that this process may open, in the order of their device numbers.
std::vector<Gpu> find_usable_gpus(const std::filesystem::path& root);

// Selects from `all` the GPUs that CUDA would show if CUDA_VISIBLE_DEVICES had the value `visible`. Selects all
// GPUs if `visible` is unset. The value is a list of entries, separated by commas. An entry is an index into
// `all` or a prefix of an id. As in CUDA, the first invalid entry and all later entries are ignored. A MIG
// slice ("MIG-...") counts as one GPU if `all` is not empty.
std::vector<Gpu> select_visible_gpus(const std::vector<Gpu>& all, const std::optional<std::string>& visible);

// Returns the GPU that a rank uses in a run: the one at index `local_rank` modulo the number of visible GPUs.
// Empty if no GPU is visible. `local_rank` is the rank's index among the ranks of its node. Under Slurm's
// --gpus-per-task=1 a rank sees only one GPU.
std::optional<Gpu> choose_gpu(const std::vector<Gpu>& visible, int local_rank);

// The present state of a GPU as NVIDIA's driver reports it.
struct GpuState {
    std::string driver = {};     // "550.54.15"
    std::string complaint = {};  // why the state is unknown; empty if it is known
    device::GpuReading reading = {};
    device::GpuLimits limits = {};

    bool operator==(const GpuState&) const = default;
};

// Returns the state of each GPU, in the order of `gpus`, as NVML reports it. `library` is the file name of
// NVML. The state of a GPU without a bus_id is unknown.
std::vector<GpuState> read_gpu_states(const std::vector<Gpu>& gpus,
                                      const std::string& library = device::GpuMeter::standard_library);

// Completes `gpus` from `reported`, which lists the GPUs that CUDA sees in the order of `gpus`. A GPU without a
// bus id gets the model and the bus id that CUDA reports. If the two lists differ in length, changes nothing,
// because it is unknown which of their entries match.
void complete_from_cuda(std::vector<Gpu>& gpus, const std::vector<device::GpuFacts>& reported);

}  // namespace trireme::tools::doctor
