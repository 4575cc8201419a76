#include "trireme/device/machine.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "device/affinity.hpp"
#include "device/system_file.hpp"

namespace trireme {

std::size_t peak_resident_bytes() { return number_after("/proc/self/status", "VmHWM:").value_or(0) * 1024; }

std::size_t resident_bytes() { return number_after("/proc/self/status", "VmRSS:").value_or(0) * 1024; }

std::size_t peak_private_bytes() {
    const std::size_t mapped_files = number_after("/proc/self/status", "RssFile:").value_or(0) * 1024;
    return peak_resident_bytes() - std::min(mapped_files, peak_resident_bytes());
}

std::string processor_name() {
    std::ifstream info("/proc/cpuinfo");
    for (std::string line; std::getline(info, line);) {
        const auto colon = line.find(": ");
        if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
    }
    return "unknown processor";
}

std::vector<int> usable_cores() {
    return cores_in_mask(
        [](std::size_t bytes, cpu_set_t* mask) { return sched_getaffinity(0, bytes, mask) == 0; });
}

int most_threads() {
    constexpr long usual = 64;
    return static_cast<int>(std::max(usual, sysconf(_SC_NPROCESSORS_CONF)));
}

}  // namespace trireme
