// Measures the cost of an addition: how many product files name it. docs/contributing.md has the steps for each
// kind.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <vector>

#include "layering/source_text.hpp"

namespace trireme::layering {
namespace {

struct Addition {
    const char* kind;
    const char* names;  // regular expression for the names of an existing addition
    std::size_t files;
};

void PrintTo(const Addition& addition, std::ostream* out) { *out << addition.kind << ' ' << addition.names; }

std::string read_code(const std::filesystem::path& path) {
    std::ifstream file(path);
    return blank_comments_and_literals({std::istreambuf_iterator<char>(file), {}});
}

std::vector<std::string> files_naming(const std::string& names) {
    const std::filesystem::path root = TRIREME_SOURCE_DIR;
    const std::regex named("\\b(" + names + ")\\b");
    std::vector<std::string> found;
    for (const char* const folder : {"include", "src"})
        for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder))
            if (entry.is_regular_file() && std::regex_search(read_code(entry.path()), named))
                found.push_back(entry.path().lexically_relative(root).string());
    return found;
}

class Additions : public testing::TestWithParam<Addition> {};

TEST_P(Additions, TouchTheExpectedNumberOfFiles) {
    const std::vector<std::string> files = files_naming(GetParam().names);

    EXPECT_EQ(files.size(), GetParam().files) << testing::PrintToString(files);
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, Additions,
    testing::Values(Addition{"schedule", "make_zb_h2_programs|compute_zb_h2_idle_time", 2},
                    Addition{"schedule", "make_inter_layer_programs|compute_inter_layer_idle_time", 2},
                    Addition{"policy", "StragglerPolicy::resize|decide_resizing", 4},
                    Addition{"proposer", "make_length_proposer", 3},
                    Addition{"proposer", "make_uneven_proposer", 3}, Addition{"family", "vit|vit_family", 3},
                    Addition{"option", "shows_kernels", 3}, Addition{"option", "skip_bad", 3},
                    Addition{"kernel", "RmsNorm", 7}, Addition{"kernel", "ImageRows", 7}));

}  // namespace
}  // namespace trireme::layering
