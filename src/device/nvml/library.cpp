#include "device/nvml/library.hpp"

#include <array>

#include "trireme/base/error.hpp"

namespace trireme::device::nvml {

Library::Library(const std::string& name) : library_({name}, "access to a GPU's clocks and power") {
    Result (*start)() = nullptr;
    library_.load_symbol("nvmlInit_v2", start);
    library_.load_symbol("nvmlShutdown", end_);
    library_.load_symbol("nvmlErrorString", error_string_);
    library_.load_symbol("nvmlSystemGetDriverVersion", driver_version_);
    library_.load_symbol("nvmlDeviceGetHandleByPciBusId_v2", device_at);
    library_.load_symbol("nvmlDeviceGetTotalEnergyConsumption", energy);
    library_.load_symbol("nvmlDeviceGetPowerUsage", power);
    library_.load_symbol("nvmlDeviceGetEnforcedPowerLimit", power_limit);
    library_.load_symbol("nvmlDeviceGetPowerManagementDefaultLimit", default_power_limit);
    library_.load_symbol("nvmlDeviceGetClockInfo", clock);
    library_.load_symbol("nvmlDeviceGetMaxClockInfo", highest_clock);
    library_.load_symbol("nvmlDeviceGetTemperature", temperature);
    library_.load_symbol("nvmlDeviceGetMemoryInfo", memory);
    library_.load_symbol("nvmlDeviceGetSupportedMemoryClocks", memory_clocks);
    library_.load_symbol("nvmlDeviceGetSupportedGraphicsClocks", clocks);
    library_.load_symbol("nvmlDeviceSetGpuLockedClocks", lock_clock);
    library_.load_symbol("nvmlDeviceResetGpuLockedClocks", unlock_clock);
    const Result result = start();
    if (result != Result::success)
        throw ResourceError(cat(name, " does not start: ", describe(result),
                                "; check whether nvidia-smi works, because the driver may not be loaded"));
}

Library::~Library() { end_(); }

std::string Library::find_driver_version() const {
    std::array<char, 80> text{};  // NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE
    const Result result = driver_version_(text.data(), static_cast<unsigned>(text.size()));
    return result == Result::success ? text.data() : "";
}

std::string Library::describe(Result result) const {
    const char* const text = error_string_(result);
    return text == nullptr ? cat("error ", static_cast<unsigned>(result)) : text;
}

}  // namespace trireme::device::nvml
