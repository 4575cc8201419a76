// A source tree in a temporary directory, for planting violations. It is removed with its owner.
#pragma once

#include <filesystem>
#include <string>

namespace trireme::layering {

class PlantedTree {
public:
    PlantedTree();
    ~PlantedTree();
    PlantedTree(const PlantedTree&) = delete;
    PlantedTree& operator=(const PlantedTree&) = delete;

    // Writes a file and its folders; `path` is relative to the root. Returns the full path.
    std::filesystem::path plant(const std::string& path, const std::string& text) const;

    const std::filesystem::path& root() const { return root_; }

private:
    std::filesystem::path root_;
};

}  // namespace trireme::layering
