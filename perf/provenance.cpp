#include "provenance.hpp"

#include <filesystem>
#include <string>

#include "trireme/base/version.hpp"

namespace trireme::perf {

nlohmann::ordered_json provenance(int argc, const char* const* argv) {
    const std::string changed_suffix = " with changes";
    std::string commit = make_build_facts().revision;
    const bool is_clean = !commit.ends_with(changed_suffix);
    if (!is_clean) commit.resize(commit.size() - changed_suffix.size());
    std::string command = std::filesystem::path(argv[0]).filename().string();
    for (int word = 1; word < argc; ++word) command += std::string(" ") + argv[word];
    return {{"commit", commit.empty() ? "unknown" : commit},
            {"tree", is_clean ? "clean" : "with changes"},
            {"command", command}};
}

}  // namespace trireme::perf
