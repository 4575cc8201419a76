#include "layering/planted_tree.hpp"

#include <cstdlib>
#include <fstream>
#include <stdexcept>

namespace trireme::layering {

namespace fs = std::filesystem;

PlantedTree::PlantedTree() {
    std::string name = (fs::temp_directory_path() / "trireme-layering-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary directory at " + name);
    root_ = name;
}

PlantedTree::~PlantedTree() {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
}

fs::path PlantedTree::plant(const std::string& path, const std::string& text) const {
    fs::path file = root_ / path;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
    return file;
}

}  // namespace trireme::layering
