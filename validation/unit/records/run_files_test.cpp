// Tests files in a run directory that are not the run's own.
#include <gtest/gtest.h>

#include <filesystem>

#include "error_message.hpp"
#include "scratch_folder.hpp"
#include "trireme/base/error.hpp"
#include "trireme/records/run_directory.hpp"

namespace trireme::records {
namespace {

using validation::catch_message;
using validation::read_whole;
using validation::ScratchFolder;

TEST(RunFiles, MustNotBeSymbolicLinks) {
    for (const std::string name : {"lock", "config.ini", "steps.jsonl", "summary.json", "stopped"}) {
        const ScratchFolder folder;
        folder.write("precious", "text");
        std::filesystem::create_directory(folder.file("run"));
        std::filesystem::create_symlink("../precious", folder.file("run/" + name));

        const std::string message =
            catch_message<ConfigError>([&] { RunDirectory(folder.file("run")).write_config("steps = 2\n"); });

        EXPECT_EQ(message,
                  folder.file("run/" + name) +
                      " is a symbolic link, but a run does not write through links; remove it, or choose "
                      "another --run-dir");
        EXPECT_EQ(read_whole(folder.file("precious")), "text");
    }
}

// Another process made the link after the run had begun.
TEST(RunFiles, ReplaceASymbolicLinkCreatedDuringTheRun) {
    const ScratchFolder folder;
    folder.write("precious", "text");
    RunDirectory run(folder.file("run"));
    std::filesystem::create_symlink("../precious", folder.file("run/config.ini"));

    run.write_config("steps = 2\n");

    EXPECT_EQ(read_whole(folder.file("precious")), "text");
    EXPECT_EQ(read_whole(folder.file("run/config.ini")), "steps = 2\n");
}

TEST(RunFiles, RecordWhyARunStopped) {
    const ScratchFolder folder;

    RunDirectory(folder.file("run")).write_stopped_file({.step = 7, .reason = "SIGTERM came to rank 1"});

    EXPECT_EQ(read_whole(folder.file("run/stopped")), "{\"step\":7,\"because\":\"SIGTERM came to rank 1\"}\n");
}

}  // namespace
}  // namespace trireme::records
