#include "train/text_file.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "trireme/base/error.hpp"

namespace trireme {

std::string read_text(const std::string& path, const char* option) {
    std::ifstream file(path);
    std::ostringstream text;
    text << file.rdbuf();
    if (!file || std::filesystem::is_directory(path)) {
        throw ConfigError(cat(option, " ", path, " cannot be read; name a file"));
    }
    return text.str();
}

}  // namespace trireme
