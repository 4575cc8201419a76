// Records of a run that goes on from a checkpoint.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "scratch_folder.hpp"
#include "train/run_directory.hpp"

namespace trireme {
namespace {

using validation::read_whole;
using validation::ScratchFolder;

constexpr const char* two_steps = R"({"step":1,"loss":3}
{"step":2,"loss":2}
{"step":2,"validation_loss":2}
)";

// The last line was cut off.
TEST(KeptRecords, AreThoseOfTheStepsBeforeTheCheckpoint) {
    const ScratchFolder folder;
    folder.write("steps.jsonl", two_steps + std::string("{\"step\":3,\"loss\":1}\n{\"step\":4,\"lo"));

    RunDirectory(folder.file(""), 2).add_evaluation(3, {.loss = 2.5});

    const std::string records = read_whole(folder.file("steps.jsonl"));
    EXPECT_EQ(records.rfind(two_steps, 0), 0U) << records;
    EXPECT_EQ(std::count(records.begin(), records.end(), '\n'), 4);
}

// It was killed before its first checkpoint.
TEST(KeptRecords, AreNoneWhereTheRunBeginsAgain) {
    const ScratchFolder folder;
    folder.write("steps.jsonl", two_steps);
    folder.write("decisions.jsonl", "{\"step\":1}\n{\"step\":2}\n");

    RunDirectory(folder.file(""), 0);

    EXPECT_EQ(read_whole(folder.file("steps.jsonl")), "");
    EXPECT_EQ(read_whole(folder.file("decisions.jsonl")), "");
}

// A change of plan behind the checkpoint's step comes again, first of all.
TEST(KeptRecords, HaveTheDecisionsBeforeTheCheckpoint) {
    const ScratchFolder folder;
    folder.write("steps.jsonl", two_steps);
    folder.write("decisions.jsonl", "{\"step\":1}\n{\"step\":2}\n{\"step\":3}\n");

    RunDirectory(folder.file(""), 2).add_decision({.step = 2});

    std::istringstream records(read_whole(folder.file("decisions.jsonl")));
    std::string line;
    std::getline(records, line);
    EXPECT_EQ(line, "{\"step\":1}");
    std::getline(records, line);
    EXPECT_EQ(line.rfind("{\"step\":2,", 0), 0U) << line;
    EXPECT_FALSE(std::getline(records, line));
}

}  // namespace
}  // namespace trireme
