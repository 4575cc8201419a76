#include "device/nvml/library.hpp"

#include <array>

#include "trireme/base/error.hpp"

namespace trireme::device::nvml {

Library::Library(const std::string& name) : library_({name}, "looking after a GPU") {
    Result (*start)() = nullptr;
    library_.find("nvmlInit_v2", start);
    library_.find("nvmlShutdown", end_);
    library_.find("nvmlErrorString", words_);
    library_.find("nvmlSystemGetDriverVersion", driver_);
    library_.find("nvmlDeviceGetHandleByPciBusId_v2", device_at);
    library_.find("nvmlDeviceGetTotalEnergyConsumption", energy);
    library_.find("nvmlDeviceGetPowerUsage", power);
    library_.find("nvmlDeviceGetEnforcedPowerLimit", power_limit);
    library_.find("nvmlDeviceGetPowerManagementDefaultLimit", default_power_limit);
    library_.find("nvmlDeviceGetClockInfo", clock);
    library_.find("nvmlDeviceGetMaxClockInfo", highest_clock);
    library_.find("nvmlDeviceGetTemperature", temperature);
    library_.find("nvmlDeviceGetMemoryInfo", memory);
    library_.find("nvmlDeviceGetSupportedMemoryClocks", memory_clocks);
    library_.find("nvmlDeviceGetSupportedGraphicsClocks", clocks);
    library_.find("nvmlDeviceSetGpuLockedClocks", lock_clock);
    library_.find("nvmlDeviceResetGpuLockedClocks", give_clock_back);
    const Result result = start();
    if (result != Result::success)
        throw ResourceError(cat(name, " does not start: ", words_of(result),
                                "; see whether nvidia-smi works here, as the driver may need to be loaded"));
}

Library::~Library() { end_(); }

std::string Library::driver() const {
    std::array<char, 80> text{};  // NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE
    const Result result = driver_(text.data(), static_cast<unsigned>(text.size()));
    return result == Result::success ? text.data() : "";
}

std::string Library::words_of(Result result) const {
    const char* const words = words_(result);
    return words == nullptr ? cat("error ", static_cast<unsigned>(result)) : words;
}

}  // namespace trireme::device::nvml
