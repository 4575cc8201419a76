// Tests where a run directory may be created.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <set>

#include "error_message.hpp"
#include "scratch_folder.hpp"
#include "trireme/base/error.hpp"
#include "trireme/records/run_directory.hpp"

namespace trireme::records {
namespace {

using validation::catch_message;
using validation::read_whole;
using validation::says;
using validation::ScratchFolder;

TEST(RunDirectory, AcceptsAFolderWithoutSteps) {
    const ScratchFolder folder;
    folder.write("notes.txt", "mine");
    { RunDirectory ended_early(folder.file("")); }

    EXPECT_NO_THROW(RunDirectory(folder.file("")).add_evaluation(0, {.loss = 1}));
    EXPECT_EQ(read_whole(folder.file("notes.txt")), "mine");
}

TEST(RunDirectory, RejectsAPathBlockedByAFile) {
    const ScratchFolder folder;
    folder.write("file", "as it was");

    for (const char* path : {"file", "file/run"}) {
        const std::string message = catch_message<ConfigError>([&] { RunDirectory run(folder.file(path)); });

        EXPECT_TRUE(says(message, "the run directory " + folder.file(path) + " cannot be created: "));
        EXPECT_TRUE(says(message, "; choose another --run-dir"));
    }
    EXPECT_EQ(read_whole(folder.file("file")), "as it was");
}

TEST(RunDirectory, AdvisesWhatToDoIfStepsCannotBeWritten) {
    const ScratchFolder folder;
    std::filesystem::create_directories(folder.file("run/steps.jsonl"));  // no file can replace this directory

    const std::string message = catch_message<ConfigError>([&] { RunDirectory run(folder.file("run")); });

    EXPECT_TRUE(says(message, folder.file("run/steps.jsonl") + " cannot be written: Is a directory"));
    EXPECT_TRUE(says(message, "; choose another --run-dir"));
}

// The directory is created below the working directory of the program.
TEST(RunDirectory, IsNewAndNamedByModelAndTimeByDefault) {
    const ScratchFolder folder;
    const std::filesystem::path before = std::filesystem::current_path();
    std::filesystem::current_path(folder.file(""));

    std::set<std::string> names;
    for (int run = 0; run < 3; ++run) names.insert(make_default_run_directory("gpt2-tiny").string());
    const bool exist =
        std::all_of(names.begin(), names.end(), [](auto& n) { return std::filesystem::exists(n); });
    std::filesystem::current_path(before);

    EXPECT_EQ(names.size(), 3U);
    EXPECT_TRUE(exist);
    const std::regex form("runs/gpt2-tiny-20[0-9]{6}-[0-9]{6}(-[23])?");
    for (const std::string& name : names) EXPECT_TRUE(std::regex_match(name, form)) << name;
}

}  // namespace
}  // namespace trireme::records
