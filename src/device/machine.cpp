#include "trireme/device/machine.hpp"

#include <sched.h>

#include <fstream>
#include <optional>

namespace trireme {
namespace {

// The number that follows a word in a file of the system's.
std::optional<std::size_t> number_after(const char* path, const std::string& label) {
    std::ifstream file(path);
    std::size_t number = 0;
    for (std::string word; file >> word;) {
        if (word == label && file >> number) return number;
    }
    return std::nullopt;
}

}  // namespace

std::size_t peak_resident_bytes() { return number_after("/proc/self/status", "VmHWM:").value_or(0) * 1024; }

std::string processor_name() {
    std::ifstream info("/proc/cpuinfo");
    for (std::string line; std::getline(info, line);) {
        const auto colon = line.find(": ");
        if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
    }
    return "unknown processor";
}

std::vector<int> usable_cores() {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    if (sched_getaffinity(0, sizeof cores, &cores) != 0) return {0};
    std::vector<int> numbers;
    for (int core = 0; core < CPU_SETSIZE; ++core) {
        if (CPU_ISSET(core, &cores)) numbers.push_back(core);
    }
    return numbers;
}

}  // namespace trireme
