// The functions of NVIDIA's management library (NVML) that are used here, declared according to its reference
// (docs.nvidia.com/deploy/nvml-api). The driver installs the library, but only the CUDA toolkit installs the
// header of the library.
#pragma once

#include <string>

#include "trireme/device/shared_library.hpp"

namespace trireme::device::nvml {

// nvmlReturn_t
enum class Result : unsigned {
    success = 0,
    invalid_argument = 2,
    not_supported = 3,
    no_permission = 4,
    not_found = 6,
    insufficient_size = 7,
    gpu_is_lost = 15
};

// nvmlClockType_t
enum class ClockKind : unsigned { graphics = 0, multiprocessors = 1, memory = 2 };

// nvmlTemperatureSensors_t
enum class Sensor : unsigned { gpu = 0 };

// nvmlMemory_t; bytes
struct Memory {
    unsigned long long total;
    unsigned long long free;
    unsigned long long used;  // includes what the driver reserves
};

// nvmlDevice_t
using Device = struct DeviceOfDriver*;

// Loads and initializes NVML; shuts it down in the destructor.
class Library {
public:
    // `name` is the name or path of the library. Throws ResourceError if the library is missing or does not
    // start.
    explicit Library(const std::string& name);
    ~Library();
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;

    // Returns the version of the driver, such as "550.54.15", or an empty text if it is unknown.
    std::string find_driver_version() const;
    // Returns NVML's description of the result.
    std::string describe(Result result) const;

    // The NVML functions. library.cpp lists their names in NVML.
    Result (*device_at)(const char* bus_id, Device* device) = nullptr;
    Result (*energy)(Device device, unsigned long long* millijoules) = nullptr;
    Result (*power)(Device device, unsigned* milliwatts) = nullptr;
    Result (*power_limit)(Device device, unsigned* milliwatts) = nullptr;
    Result (*default_power_limit)(Device device, unsigned* milliwatts) = nullptr;
    Result (*clock)(Device device, ClockKind kind, unsigned* mhz) = nullptr;
    Result (*highest_clock)(Device device, ClockKind kind, unsigned* mhz) = nullptr;
    Result (*temperature)(Device device, Sensor sensor, unsigned* celsius) = nullptr;
    Result (*memory)(Device device, Memory* memory) = nullptr;
    Result (*memory_clocks)(Device device, unsigned* count, unsigned* mhz) = nullptr;
    Result (*clocks)(Device device, unsigned memory_mhz, unsigned* count, unsigned* mhz) = nullptr;
    Result (*lock_clock)(Device device, unsigned min_mhz, unsigned max_mhz) = nullptr;
    Result (*unlock_clock)(Device device) = nullptr;

private:
    SharedLibrary library_;
    Result (*end_)() = nullptr;
    const char* (*error_string_)(Result) = nullptr;
    Result (*driver_version_)(char* text, unsigned length) = nullptr;
};

}  // namespace trireme::device::nvml
