// Imitates NVIDIA's management library for two GPUs, and for emulated GPUs if each process has its own.
// Environment variables, read at each call, control it: NVML_STAND_IN_PLAY (well, not_supported, no_permission,
// lost, lost_later, hot, none) and NVML_STAND_IN_LOG, a file that receives one line for each clock limit that
// is set or reset: "hold 0000:01:00.0 1200 1200", "give back 0000:01:00.0". With NVML_STAND_IN_TIMES, each line
// ends with the seconds of a monotonic clock. NVML_STAND_IN_LOWEST_MHZ is the lowest clock, 210 if unset. In
// the play lost_later, the GPU is lost at the 25th clock limit.
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>

namespace {

enum Result : unsigned {
    success = 0,
    uninitialized = 1,
    invalid_argument = 2,
    not_supported = 3,
    no_permission = 4,
    not_found = 6,
    insufficient_size = 7,
    driver_not_loaded = 9,
    gpu_is_lost = 15
};

struct Gpu {
    std::string bus_id;
    unsigned number;
};
using Device = const Gpu*;

std::mutex gpus_mutex;
std::deque<Gpu> gpus{{"0000:01:00.0", 0}, {"0000:65:00.0", 1}};
constexpr unsigned highest_mhz = 1980;
constexpr unsigned step_mhz = 15;

// Each query reports two more joules, or three for the second GPU.
std::atomic<unsigned long long> energy_queries = 0;
std::atomic<int> users = 0;
std::atomic<int> clock_limits = 0;

std::string_view play() {
    const char* const value = std::getenv("NVML_STAND_IN_PLAY");
    return value == nullptr ? "well" : value;
}

unsigned lowest_mhz() {
    const char* const value = std::getenv("NVML_STAND_IN_LOWEST_MHZ");
    return value == nullptr ? 210 : static_cast<unsigned>(std::atoi(value));
}

void note(const std::string& line) {
    const char* const path = std::getenv("NVML_STAND_IN_LOG");
    if (path == nullptr) return;
    const int file = ::open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    const double now =
        std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
    const bool has_time = std::getenv("NVML_STAND_IN_TIMES") != nullptr;
    const std::string text = line + (has_time ? " " + std::to_string(now) : "") + "\n";
    if (::write(file, text.data(), text.size()) < 0) std::abort();
    ::close(file);
}

Result check_device(Device device) {
    if (users == 0) return uninitialized;
    if (device == nullptr) return invalid_argument;
    return play() == "lost" ? gpu_is_lost : success;
}

// Returns a value that simple GPUs do not report.
template <class Value>
Result report(Device device, Value* to, Value value) {
    if (const Result state = check_device(device); state != success) return state;
    if (play() == "not_supported") return not_supported;
    *to = value;
    return success;
}

Result list(Device device, unsigned* count, unsigned* to, unsigned first, unsigned size) {
    if (const Result state = check_device(device); state != success) return state;
    if (play() == "not_supported") return not_supported;
    const unsigned capacity = *count;
    *count = size;
    if (to == nullptr || capacity < size) return insufficient_size;
    for (unsigned i = 0; i < size; ++i) to[i] = first - i * step_mhz;
    return success;
}

}  // namespace

extern "C" {

struct Memory {
    unsigned long long total, free, used;
};

Result nvmlInit_v2() {
    if (play() == "none") return driver_not_loaded;
    ++users;
    return success;
}

Result nvmlShutdown() {
    if (users == 0) return uninitialized;
    --users;
    return success;
}

const char* nvmlErrorString(Result result) {
    switch (result) {
        case not_supported:
            return "Not Supported";
        case no_permission:
            return "Insufficient Permissions";
        case not_found:
            return "Not Found";
        case driver_not_loaded:
            return "Driver Not Loaded";
        case gpu_is_lost:
            return "GPU is lost";
        default:
            return "Unknown Error";
    }
}

Result nvmlSystemGetDriverVersion(char* text, unsigned length) {
    std::strncpy(text, "550.54.15", length);
    return success;
}

Result nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, Device* device) {
    if (users == 0) return uninitialized;
    const std::scoped_lock lock(gpus_mutex);
    for (const Gpu& gpu : gpus) {
        if (gpu.bus_id != bus_id) continue;
        *device = &gpu;
        return success;
    }
    if (!std::string_view(bus_id).starts_with("process ")) return not_found;
    *device = &gpus.emplace_back(Gpu{bus_id, 0});
    return success;
}

Result nvmlDeviceGetTotalEnergyConsumption(Device device, unsigned long long* millijoules) {
    const Result result = report(device, millijoules, 5'000'000ULL);
    if (result == success) *millijoules += ++energy_queries * (2000 + 1000 * device->number);
    return result;
}

Result nvmlDeviceGetPowerUsage(Device device, unsigned* milliwatts) {
    return report(device, milliwatts, 115'500U + device->number);
}

Result nvmlDeviceGetEnforcedPowerLimit(Device device, unsigned* milliwatts) {
    return report(device, milliwatts, play() == "hot" ? 400'000U : 700'000U);
}

Result nvmlDeviceGetPowerManagementDefaultLimit(Device device, unsigned* milliwatts) {
    return report(device, milliwatts, 700'000U);
}

// Every GPU reports these two.
Result nvmlDeviceGetClockInfo(Device device, unsigned kind, unsigned* mhz) {
    if (const Result state = check_device(device); state != success) return state;
    *mhz = kind == 2 ? 2619 : (play() == "hot" ? 900 : 1755);
    return success;
}

Result nvmlDeviceGetTemperature(Device device, unsigned /*sensor*/, unsigned* celsius) {
    if (const Result state = check_device(device); state != success) return state;
    *celsius = play() == "hot" ? 88 : 41;
    return success;
}

Result nvmlDeviceGetMaxClockInfo(Device device, unsigned kind, unsigned* mhz) {
    return report(device, mhz, kind == 2 ? 2619U : highest_mhz);
}

Result nvmlDeviceGetMemoryInfo(Device device, Memory* memory) {
    const unsigned long long used = play() == "hot" ? 20'000'000'000 : 600'000'000;
    return report(device, memory, Memory{80'000'000'000, 80'000'000'000 - used, used});
}

Result nvmlDeviceGetSupportedMemoryClocks(Device device, unsigned* count, unsigned* mhz) {
    return list(device, count, mhz, 2619, 1);
}

Result nvmlDeviceGetSupportedGraphicsClocks(Device device, unsigned memory_mhz, unsigned* count,
                                            unsigned* mhz) {
    if (memory_mhz != 2619) return not_found;
    return list(device, count, mhz, highest_mhz, (highest_mhz - lowest_mhz()) / step_mhz + 1);
}

Result nvmlDeviceSetGpuLockedClocks(Device device, unsigned min_mhz, unsigned max_mhz) {
    if (const Result state = check_device(device); state != success) return state;
    if (play() == "no_permission") return no_permission;
    if (play() == "not_supported") return not_supported;
    if (++clock_limits > 24 && play() == "lost_later") return gpu_is_lost;
    note(std::string("hold ") + device->bus_id + " " + std::to_string(min_mhz) + " " + std::to_string(max_mhz));
    return success;
}

Result nvmlDeviceResetGpuLockedClocks(Device device) {
    if (const Result state = check_device(device); state != success) return state;
    if (play() == "no_permission") return no_permission;
    note(std::string("give back ") + device->bus_id);
    return success;
}

}  // extern "C"
