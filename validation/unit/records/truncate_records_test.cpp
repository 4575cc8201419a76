// Tests the records of a run that resumes from a checkpoint.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "scratch_folder.hpp"
#include "trireme/records/run_directory.hpp"

namespace trireme::records {
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

TEST(KeptRecords, IncludeStepsAfterAnUnreadableLine) {
    const ScratchFolder folder;
    const std::string damaged = std::string(R"({"step":1,"loss":3})") + "\n\n{\"step\":\n" +
                                R"({"step":2,"loss":2})" + "\n{\"step\":3}\n{\"step\":4}\n";
    folder.write("steps.jsonl", damaged);

    const RunDirectory run(folder.file(""), 2);

    EXPECT_EQ(read_whole(folder.file("steps.jsonl")), "{\"step\":1,\"loss\":3}\n{\"step\":2,\"loss\":2}\n");
    EXPECT_EQ(read_whole(folder.file("steps.jsonl.damaged")), damaged);
    ASSERT_EQ(run.remarks().size(), 2U);
    EXPECT_NE(
        run.remarks()[0].find("steps.jsonl: dropped 2 lines that cannot be read, the first of them line 2; the "
                              "original file is kept as "),
        std::string::npos)
        << run.remarks()[0];
    EXPECT_NE(run.remarks()[1].find(
                  "steps.jsonl: dropped 2 lines of steps after step 2; this run repeats those steps"),
              std::string::npos)
        << run.remarks()[1];
}

TEST(KeptRecords, ExcludeTheVerdictOfAnEarlierStart) {
    const ScratchFolder folder;
    folder.write("steps.jsonl", two_steps);
    folder.write("summary.json", "{\"verdict\": \"VALID\"}");
    folder.write("stopped", "{\"step\":2}");

    const RunDirectory run(folder.file(""), 2);

    EXPECT_EQ(run.remarks(), std::vector<std::string>());
    EXPECT_FALSE(std::filesystem::exists(folder.file("summary.json")));
    EXPECT_FALSE(std::filesystem::exists(folder.file("stopped")));
}

// The run was killed before its first checkpoint.
TEST(KeptRecords, AreEmptyIfTheRunStartsOver) {
    const ScratchFolder folder;
    folder.write("steps.jsonl", two_steps);
    folder.write("decisions.jsonl", "{\"step\":0}\n{\"step\":2}\n");

    RunDirectory(folder.file(""), 0);

    EXPECT_EQ(read_whole(folder.file("steps.jsonl")), "");
    EXPECT_EQ(read_whole(folder.file("decisions.jsonl")), "");
}

// A change of plan after the checkpoint's step is decided again, before anything else.
TEST(KeptRecords, IncludeDecisionsBeforeTheCheckpoint) {
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
}  // namespace trireme::records
