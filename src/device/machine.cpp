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

// Returns the number after the word `label`; empty if the file or the word is missing.
std::optional<std::size_t> number_after(const std::filesystem::path& path, const std::string& label) {
    std::ifstream file(path);
    std::size_t number = 0;
    for (std::string word; file >> word;) {
        if (word == label && file >> number) return number;
    }
    return std::nullopt;
}

// Returns the numbers of the CPUs in `mask`. The vector replaces
// CPU_ALLOC, because it is contiguous too and frees itself.
std::vector<int> cores_in(const std::vector<cpu_set_t>& mask) {
    const std::size_t bytes = mask.size() * sizeof(cpu_set_t);
    std::vector<int> numbers;
    for (std::size_t core = 0; core < bytes * 8; ++core) {
        if (CPU_ISSET_S(core, bytes, mask.data())) numbers.push_back(static_cast<int>(core));
    }
    return numbers;
}

namespace fs = std::filesystem;

// Returns the first number in a file; empty if the file does not exist or holds the word "max".
std::optional<std::size_t> number_in(const fs::path& path) {
    std::ifstream file(path);
    std::size_t number = 0;
    if (file >> number) return number;
    return std::nullopt;
}

std::optional<UsableMemory> room_of_node(const fs::path& root) {
    const fs::path facts = root / "proc/meminfo";
    const auto all = number_after(facts, "MemTotal:");
    const auto left = number_after(facts, "MemAvailable:");
    if (!all || !left) return std::nullopt;
    return UsableMemory{.identity = "node", .bytes = *all * 1024, .left = *left * 1024};
}

// Names of the files in the folder of a control group.
struct GroupFiles {
    const char* limit;
    const char* usage;
    const char* active;  // words in memory.stat that count file pages, which the system can reclaim
    const char* inactive;
};
constexpr GroupFiles version_1{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_active_file",
                               "total_inactive_file"};
constexpr GroupFiles version_2{"memory.max", "memory.current", "active_file", "inactive_file"};

// The memory group of this process.
struct OwnGroup {
    fs::path mount;  // the folder of the root group
    fs::path path;   // path of the group below `mount`; starts with /
    GroupFiles files;
};

bool has_word(const std::string& list, const std::string& word) {
    std::istringstream words(list);
    for (std::string each; std::getline(words, each, ',');)
        if (each == word) return true;
    return false;
}

// Lines of /proc/self/cgroup are "ID:CONTROLLERS:PATH"; version 2 has "0::PATH". If both versions are mounted,
// memory belongs to version 1 if that has the memory controller.
std::optional<OwnGroup> own_group(const fs::path& root) {
    const fs::path base = root / "sys/fs/cgroup";
    std::optional<OwnGroup> found;
    std::ifstream file(root / "proc/self/cgroup");
    for (std::string line; std::getline(file, line);) {
        const auto first = line.find(':');
        const auto second = line.find(':', first + 1);
        if (first == std::string::npos || second == std::string::npos) continue;
        const std::string controllers = line.substr(first + 1, second - first - 1);
        const std::string path = line.substr(second + 1);
        if (has_word(controllers, "memory")) return OwnGroup{base / "memory", path, version_1};
        if (controllers.empty()) found = OwnGroup{base, path, version_2};
    }
    return found;
}

// Returns a name that is equal for all processes that see this folder, even under different paths.
std::string identity_of(const fs::path& folder) {
    struct stat facts {};
    if (::stat(folder.c_str(), &facts) != 0) return folder.string();
    return cat("group ", facts.st_dev, '-', facts.st_ino);
}

std::optional<UsableMemory> room_of_group(const OwnGroup& own, const fs::path& path) {
    const fs::path folder = own.mount / path.relative_path();
    const auto limit = number_in(folder / own.files.limit);
    const auto used = number_in(folder / own.files.usage);
    if (!limit || !used) return std::nullopt;
    const std::size_t cached = number_after(folder / "memory.stat", own.files.active).value_or(0) +
                               number_after(folder / "memory.stat", own.files.inactive).value_or(0);
    const std::size_t held = *used - std::min(*used, cached);
    return UsableMemory{.identity = identity_of(folder),
                        .group = path.string(),
                        .bytes = *limit,
                        .left = *limit - std::min(*limit, held)};
}

}  // namespace

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

std::vector<int> cores_in_mask(const MaskReader& read) {
    constexpr std::size_t most_sets = (std::size_t{1} << 20) / CPU_SETSIZE;
    for (std::size_t sets = 1; sets <= most_sets; sets *= 2) {
        std::vector<cpu_set_t> mask(sets);
        if (read(sets * sizeof(cpu_set_t), mask.data())) return cores_in(mask);
    }
    return {0};
}

std::vector<UsableMemory> usable_memory(const fs::path& root) {
    const auto node = room_of_node(root);
    if (!node) return {};
    std::vector<UsableMemory> rooms{*node};
    const auto own = own_group(root);
    if (!own) return rooms;
    // In a container the path may be one of the host that is missing here; then the root group counts.
    for (fs::path path = own->path;; path = path.parent_path()) {
        const bool is_outside = std::ranges::find(path, fs::path("..")) != path.end();
        const auto room = is_outside ? std::nullopt : room_of_group(*own, path);
        if (room && room->bytes < node->bytes) rooms.push_back(*room);
        if (!path.has_relative_path()) return rooms;
    }
}

}  // namespace trireme::device
