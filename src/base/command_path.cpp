#include "trireme/base/command_path.hpp"

#include <unistd.h>

#include <sstream>

namespace trireme {

std::optional<std::filesystem::path> command_path(const std::string& search_path, const std::string& name) {
    std::istringstream folders(search_path);
    for (std::string folder; std::getline(folders, folder, ':');) {
        const std::filesystem::path path = std::filesystem::path(folder.empty() ? "." : folder) / name;
        std::error_code none;
        if (std::filesystem::is_regular_file(path, none) && ::access(path.c_str(), X_OK) == 0) return path;
    }
    return std::nullopt;
}

}  // namespace trireme
