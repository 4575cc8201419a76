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

std::optional<int> number_in(std::string_view text) {
    int number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
    return number;
}

// Reads lines such as "Model: \t\t NVIDIA H100 80GB HBM3".
std::map<std::string, std::string> fields_of(const fs::path& path) {
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
std::map<int, Gpu> told_by_driver(const fs::path& root) {
    std::map<int, Gpu> gpus;
    std::error_code none;  // set if there is no such folder
    for (const fs::directory_entry& entry : fs::directory_iterator(root / "proc/driver/nvidia/gpus", none)) {
        auto fields = fields_of(entry.path() / "information");
        const std::optional<int> number = number_in(fields["Device Minor"]);
        if (number)
            gpus[*number] = {
                .model = fields["Model"], .id = fields["GPU UUID"], .bus_id = entry.path().filename()};
    }
    return gpus;
}

// Slurm hides the devices of other jobs by forbidding this process to open them.
bool may_open(const fs::path& device) {
    const int descriptor = ::open(device.c_str(), O_RDWR | O_CLOEXEC);
    if (descriptor >= 0) ::close(descriptor);
    return descriptor >= 0;
}

// "/dev/nvidia3" has the number 3; "/dev/nvidiactl" is no device.
std::optional<int> device_number(const fs::path& path) {
    constexpr std::string_view start = "nvidia";
    const std::string name = path.filename().string();
    if (!name.starts_with(start)) return std::nullopt;
    return number_in(std::string_view(name).substr(start.size()));
}

// Returns the device files by device number.
std::map<int, fs::path> device_files(const fs::path& root) {
    std::map<int, fs::path> files;
    std::error_code none;
    for (const fs::directory_entry& entry : fs::directory_iterator(root / "dev", none)) {
        if (const std::optional<int> number = device_number(entry.path())) files[*number] = entry.path();
    }
    return files;
}

const Gpu* named(const std::vector<Gpu>& all, const std::string& word) {
    if (const std::optional<int> number = number_in(word)) {
        const auto place = static_cast<std::size_t>(*number);
        return place < all.size() ? &all[place] : nullptr;
    }
    const auto gpu = std::ranges::find_if(all, [&](const Gpu& each) {
        return !word.empty() && each.id.starts_with(word);
    });  // a prefix of the id is enough
    return gpu == all.end() ? nullptr : &*gpu;
}

GpuState state_of(const Gpu& gpu, const std::string& library) {
    if (gpu.bus_id.empty()) return {.complaint = "the system does not say where GPU " + gpu.id + " is"};
    const device::GpuMeterSearch search = device::find_gpu_meter(gpu.bus_id, library);
    if (!search.meter) return {.complaint = search.complaint};
    return {
        .driver = search.meter->driver(), .reading = search.meter->read(), .limits = search.meter->limits()};
}

}  // namespace

int gpus_shown(const fs::path& root) { return static_cast<int>(device_files(root).size()); }

std::vector<Gpu> gpus_of_machine(const fs::path& root) {
    const std::map<int, Gpu> known = told_by_driver(root);
    std::vector<Gpu> gpus;
    for (const auto& [number, path] : device_files(root)) {
        if (!may_open(path)) continue;
        const auto told = known.find(number);
        gpus.push_back(told == known.end() ? Gpu{.id = std::to_string(number)} : told->second);
    }
    return gpus;
}

std::vector<Gpu> visible_gpus(const std::vector<Gpu>& all, const std::optional<std::string>& visible) {
    if (!visible) return all;
    std::vector<Gpu> gpus;
    std::istringstream words(*visible);
    for (std::string word; std::getline(words, word, ',');) {
        if (!all.empty() && word.starts_with("MIG-")) {
            gpus.push_back({.model = "a slice of an NVIDIA device", .id = word});
            continue;
        }
        const Gpu* gpu = named(all, word);
        if (gpu == nullptr) break;
        gpus.push_back(*gpu);
    }
    return gpus;
}

std::optional<Gpu> gpu_of_rank(const std::vector<Gpu>& visible, int local_rank) {
    if (visible.empty()) return std::nullopt;
    return visible[static_cast<std::size_t>(local_rank) % visible.size()];
}

std::vector<GpuState> states_of(const std::vector<Gpu>& gpus, const std::string& library) {
    std::vector<GpuState> states;
    for (const Gpu& gpu : gpus) states.push_back(state_of(gpu, library));
    return states;
}

void add_what_cuda_tells(std::vector<Gpu>& gpus, const std::vector<device::GpuFacts>& told) {
    if (gpus.size() != told.size()) return;
    for (std::size_t i = 0; i < gpus.size(); ++i) {
        if (!gpus[i].bus_id.empty()) continue;
        gpus[i].bus_id = told[i].bus_id;
        gpus[i].model = told[i].name;
    }
}

}  // namespace trireme::tools::doctor
