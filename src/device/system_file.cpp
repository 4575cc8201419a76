#include "device/system_file.hpp"

#include <fstream>

namespace trireme {

std::optional<std::size_t> number_after(const std::filesystem::path& path, const std::string& label) {
    std::ifstream file(path);
    std::size_t number = 0;
    for (std::string word; file >> word;) {
        if (word == label && file >> number) return number;
    }
    return std::nullopt;
}

}  // namespace trireme
