#include "tools/doctor/gpus.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <map>
#include <sstream>
#include <string_view>

namespace trireme::tools::doctor {
namespace {

namespace fs = std::filesystem;

std::optional<int> parse_number(std::string_view text) {
    int number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
    return number;
}

// Reads lines such as "Model: \t\t NVIDIA H100 80GB HBM3" and returns the values by name. Empty if the file
// cannot be read.
std::map<std::string, std::string> read_fields(const fs::path& path) {
    constexpr const char* blanks = " \t";
    std::ifstream file(path);
    std::map<std::string, std::string> fields;
    for (std::string line; std::getline(file, line);) {
        const std::size_t colon = line.find(':');
        if (colon == std::string::npos) continue;
        const std::size_t begin = line.find_first_not_of(blanks, colon + 1);
        if (begin != std::string::npos) fields[line.substr(0, colon)] = line.substr(begin);
    }
    return fields;
}

// Returns the GPUs that the driver lists in /proc, by device number.
std::map<int, Gpu> read_driver_gpus(const fs::path& root) {
    std::map<int, Gpu> gpus;
    std::error_code error;  // set if the folder is missing; the loop then has no entries
    for (const fs::directory_entry& entry : fs::directory_iterator(root / "proc/driver/nvidia/gpus", error)) {
        auto fields = read_fields(entry.path() / "information");
        const std::optional<int> number = parse_number(fields["Device Minor"]);
        if (number)
            gpus[*number] = {
                .model = fields["Model"], .id = fields["GPU UUID"], .bus_id = entry.path().filename()};
    }
    return gpus;
}

// Slurm keeps the devices of other jobs visible in /dev, but forbids this process to open them.
bool may_open(const fs::path& device) {
    const int descriptor = ::open(device.c_str(), O_RDWR | O_CLOEXEC);
    if (descriptor >= 0) ::close(descriptor);
    return descriptor >= 0;
}

// Returns 3 for "/dev/nvidia3". Returns nullopt for other names, such as "/dev/nvidiactl".
std::optional<int> parse_device_number(const fs::path& path) {
    constexpr std::string_view prefix = "nvidia";
    const std::string name = path.filename().string();
    if (!name.starts_with(prefix)) return std::nullopt;
    return parse_number(std::string_view(name).substr(prefix.size()));
}

// Returns the paths of the GPUs' device files, by device number.
std::map<int, fs::path> list_device_files(const fs::path& root) {
    std::map<int, fs::path> files;
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(root / "dev", error)) {
        if (const std::optional<int> number = parse_device_number(entry.path())) files[*number] = entry.path();
    }
    return files;
}

// Returns the GPU that an entry of CUDA_VISIBLE_DEVICES names by its index or by a prefix of its id. Returns
// nullptr if there is no such GPU.
const Gpu* find_gpu(const std::vector<Gpu>& all, const std::string& entry) {
    if (const std::optional<int> number = parse_number(entry)) {
        const auto index = static_cast<std::size_t>(*number);
        return index < all.size() ? &all[index] : nullptr;
    }
    const auto gpu = std::ranges::find_if(
        all, [&](const Gpu& each) { return !entry.empty() && each.id.starts_with(entry); });
    return gpu == all.end() ? nullptr : &*gpu;
}

GpuState read_gpu_state(const Gpu& gpu, const std::string& library) {
    if (gpu.bus_id.empty()) return {.complaint = "the PCI bus ID of GPU " + gpu.id + " is unknown"};
    const device::GpuMeterSearch search = device::find_gpu_meter(gpu.bus_id, library);
    if (!search.meter) return {.complaint = search.complaint};
    return {.driver = search.meter->find_driver_version(),
            .reading = search.meter->read(),
            .limits = search.meter->read_limits()};
}

}  // namespace

int count_gpus(const fs::path& root) { return static_cast<int>(list_device_files(root).size()); }

std::vector<Gpu> find_usable_gpus(const fs::path& root) {
    const std::map<int, Gpu> driver_gpus = read_driver_gpus(root);
    std::vector<Gpu> gpus;
    for (const auto& [number, path] : list_device_files(root)) {
        if (!may_open(path)) continue;
        const auto driver_gpu = driver_gpus.find(number);
        gpus.push_back(driver_gpu == driver_gpus.end() ? Gpu{.id = std::to_string(number)}
                                                       : driver_gpu->second);
    }
    return gpus;
}

std::vector<Gpu> select_visible_gpus(const std::vector<Gpu>& all, const std::optional<std::string>& visible) {
    if (!visible) return all;
    std::vector<Gpu> gpus;
    std::istringstream entries(*visible);
    for (std::string entry; std::getline(entries, entry, ',');) {
        if (!all.empty() && entry.starts_with("MIG-")) {
            gpus.push_back({.model = "NVIDIA MIG slice", .id = entry});
            continue;
        }
        const Gpu* gpu = find_gpu(all, entry);
        if (gpu == nullptr) break;
        gpus.push_back(*gpu);
    }
    return gpus;
}

std::optional<Gpu> choose_gpu(const std::vector<Gpu>& visible, int local_rank) {
    if (visible.empty()) return std::nullopt;
    return visible[static_cast<std::size_t>(local_rank) % visible.size()];
}

std::vector<GpuState> read_gpu_states(const std::vector<Gpu>& gpus, const std::string& library) {
    std::vector<GpuState> states;
    for (const Gpu& gpu : gpus) states.push_back(read_gpu_state(gpu, library));
    return states;
}

void complete_from_cuda(std::vector<Gpu>& gpus, const std::vector<device::GpuFacts>& reported) {
    if (gpus.size() != reported.size()) return;
    for (std::size_t i = 0; i < gpus.size(); ++i) {
        if (!gpus[i].bus_id.empty()) continue;
        gpus[i].bus_id = reported[i].bus_id;
        gpus[i].model = reported[i].name;
    }
}

}  // namespace trireme::tools::doctor
