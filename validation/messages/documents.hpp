// Finds the documents of the project: pages for users and developers.
#pragma once

#include <algorithm>
#include <filesystem>
#include <vector>

namespace trireme::messages {

// Returns all Markdown files of the project in alphabetical order. `root` is the folder of the sources.
inline std::vector<std::filesystem::path> documents(const std::filesystem::path& root) {
    namespace fs = std::filesystem;
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(root))
        if (entry.path().extension() == ".md") found.push_back(entry.path());
    for (const char* folder : {"data", "docs", "jobs", "perf", "validation"}) {
        for (const auto& entry : fs::recursive_directory_iterator(root / folder))
            if (entry.path().extension() == ".md") found.push_back(entry.path());
    }
    std::ranges::sort(found);
    return found;
}

}  // namespace trireme::messages
