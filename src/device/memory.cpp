#include "trireme/device/memory.hpp"

#include <fstream>
#include <string>

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

}  // namespace trireme
