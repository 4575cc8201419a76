#include "trireme/device/machine.hpp"

#include <sched.h>

#include <fstream>

namespace trireme {

std::size_t peak_resident_bytes() {
    std::ifstream status("/proc/self/status");
    std::string word;
    std::size_t kibibytes = 0;
    while (status >> word) {
        if (word == "VmHWM:" && status >> kibibytes) return kibibytes * 1024;
    }
    return 0;
}

std::string processor_name() {
    std::ifstream info("/proc/cpuinfo");
    for (std::string line; std::getline(info, line);) {
        const auto colon = line.find(": ");
        if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
    }
    return "unknown processor";
}

int usable_cores() {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    if (sched_getaffinity(0, sizeof cores, &cores) != 0) return 1;
    return CPU_COUNT(&cores);
}

}  // namespace trireme
