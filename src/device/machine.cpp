#include "trireme/device/machine.hpp"

#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

#include "device/affinity.hpp"
#include "trireme/base/error.hpp"

namespace trireme::device {
namespace {

// Returns the number after the word `label` in a file; empty if the file or the word is missing.
std::optional<std::size_t> read_number_after(const std::filesystem::path& path, const std::string& label) {
    std::ifstream file(path);
    std::size_t number = 0;
    for (std::string word; file >> word;) {
        if (word == label && file >> number) return number;
    }
    return std::nullopt;
}

// Returns the numbers of the CPUs in `mask`. The sets of the vector are contiguous, and therefore form one long
// mask, like a mask of CPU_ALLOC.
std::vector<int> list_cores(const std::vector<cpu_set_t>& mask) {
    const std::size_t bytes = mask.size() * sizeof(cpu_set_t);
    std::vector<int> numbers;
    for (std::size_t core = 0; core < bytes * 8; ++core) {
        if (CPU_ISSET_S(core, bytes, mask.data())) numbers.push_back(static_cast<int>(core));
    }
    return numbers;
}

namespace fs = std::filesystem;

// Returns the first number in a file; empty if the file does not exist or holds the word "max".
std::optional<std::size_t> read_first_number(const fs::path& path) {
    std::ifstream file(path);
    std::size_t number = 0;
    if (file >> number) return number;
    return std::nullopt;
}

std::optional<UsableMemory> read_node_memory(const fs::path& root) {
    const fs::path meminfo = root / "proc/meminfo";
    const auto total = read_number_after(meminfo, "MemTotal:");
    const auto available = read_number_after(meminfo, "MemAvailable:");
    if (!total || !available) return std::nullopt;
    return UsableMemory{.identity = "node", .total_bytes = *total * 1024, .available_bytes = *available * 1024};
}

// Names of the files in the folder of a control group.
struct CgroupFiles {
    const char* limit;
    const char* usage;
    const char* active;  // entries of memory.stat: file pages, which the system can reclaim
    const char* inactive;
};
constexpr CgroupFiles cgroup_v1_files{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_active_file",
                                      "total_inactive_file"};
constexpr CgroupFiles cgroup_v2_files{"memory.max", "memory.current", "active_file", "inactive_file"};

// The memory control group of this process.
struct Cgroup {
    fs::path mount;  // the folder of the root group
    fs::path path;   // path of the group below `mount`; starts with /
    CgroupFiles files;
};

bool has_word(const std::string& list, const std::string& word) {
    std::istringstream words(list);
    for (std::string each; std::getline(words, each, ',');)
        if (each == word) return true;
    return false;
}

// Lines of /proc/self/cgroup are "ID:CONTROLLERS:PATH" in version 1, and "0::PATH" in version 2. If both
// versions are mounted, the version that has the memory controller limits the memory.
std::optional<Cgroup> find_own_cgroup(const fs::path& root) {
    const fs::path base = root / "sys/fs/cgroup";
    std::optional<Cgroup> found;
    std::ifstream file(root / "proc/self/cgroup");
    for (std::string line; std::getline(file, line);) {
        const auto first = line.find(':');
        const auto second = line.find(':', first + 1);
        if (first == std::string::npos || second == std::string::npos) continue;
        const std::string controllers = line.substr(first + 1, second - first - 1);
        const std::string path = line.substr(second + 1);
        if (has_word(controllers, "memory")) return Cgroup{base / "memory", path, cgroup_v1_files};
        if (controllers.empty()) found = Cgroup{base, path, cgroup_v2_files};
    }
    return found;
}

// Returns a name that is equal for all processes that see the same folder, even under different paths.
std::string read_identity(const fs::path& folder) {
    struct stat facts {};
    if (::stat(folder.c_str(), &facts) != 0) return folder.string();
    return cat("group ", facts.st_dev, '-', facts.st_ino);
}

std::optional<UsableMemory> read_cgroup_memory(const Cgroup& own, const fs::path& path) {
    const fs::path folder = own.mount / path.relative_path();
    const auto limit = read_first_number(folder / own.files.limit);
    const auto used_bytes = read_first_number(folder / own.files.usage);
    if (!limit || !used_bytes) return std::nullopt;
    const std::size_t cached_bytes = read_number_after(folder / "memory.stat", own.files.active).value_or(0) +
                                     read_number_after(folder / "memory.stat", own.files.inactive).value_or(0);
    const std::size_t unreclaimable_bytes = *used_bytes - std::min(*used_bytes, cached_bytes);
    return UsableMemory{.identity = read_identity(folder),
                        .cgroup = path.string(),
                        .total_bytes = *limit,
                        .available_bytes = *limit - std::min(*limit, unreclaimable_bytes)};
}

}  // namespace

std::size_t read_peak_resident_bytes() {
    return read_number_after("/proc/self/status", "VmHWM:").value_or(0) * 1024;
}

std::size_t read_resident_bytes() {
    return read_number_after("/proc/self/status", "VmRSS:").value_or(0) * 1024;
}

std::size_t read_peak_private_bytes() {
    // The system reports no peak of the mapped files, so their current size is subtracted.
    const std::size_t mapped_files = read_number_after("/proc/self/status", "RssFile:").value_or(0) * 1024;
    return read_peak_resident_bytes() - std::min(mapped_files, read_peak_resident_bytes());
}

std::string read_processor_name() {
    std::ifstream info("/proc/cpuinfo");
    for (std::string line; std::getline(info, line);) {
        const auto colon = line.find(": ");
        if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
    }
    return "unknown processor";
}

std::vector<int> list_usable_cores() {
    return list_cores_in_mask(
        [](std::size_t bytes, cpu_set_t* mask) { return sched_getaffinity(0, bytes, mask) == 0; });
}

int max_threads() {
    constexpr long min_threads = 64;
    return static_cast<int>(std::max(min_threads, sysconf(_SC_NPROCESSORS_CONF)));
}

std::vector<int> list_cores_in_mask(const MaskReader& read) {
    constexpr std::size_t max_sets = (std::size_t{1} << 20) / CPU_SETSIZE;
    for (std::size_t sets = 1; sets <= max_sets; sets *= 2) {
        std::vector<cpu_set_t> mask(sets);
        if (read(sets * sizeof(cpu_set_t), mask.data())) return list_cores(mask);
    }
    return {0};
}

std::vector<UsableMemory> find_usable_memory(const fs::path& root) {
    const auto node = read_node_memory(root);
    if (!node) return {};
    std::vector<UsableMemory> memories{*node};
    const auto own = find_own_cgroup(root);
    if (!own) return memories;
    // In a container, `path` may be a path of the host that does not exist in the container. `path` may also
    // lead out of the container ("/../..."). In both cases, only the root group has the limit.
    for (fs::path path = own->path;; path = path.parent_path()) {
        const bool is_outside = std::ranges::find(path, fs::path("..")) != path.end();
        const auto memory = is_outside ? std::nullopt : read_cgroup_memory(*own, path);
        if (memory && memory->total_bytes < node->total_bytes) memories.push_back(*memory);
        if (!path.has_relative_path()) return memories;
    }
}

}  // namespace trireme::device
