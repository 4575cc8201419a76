#include "records/run_starts.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "error_message.hpp"
#include "scratch_folder.hpp"
#include "trireme/base/error.hpp"

namespace trireme::records {
using validation::catch_message;
using validation::ScratchFolder;

namespace {

class RunStarts : public testing::Test {
protected:
    void start(int restarts, std::size_t first_step, const std::string& job = "4711") const {
        record_start(file_, {.id = job, .restarts = restarts}, first_step);
    }

    ScratchFolder folder_;
    std::string file_ = folder_.file("starts.jsonl");
};

TEST_F(RunStarts, AreUnlimitedIfEachMakesProgress) {
    for (int i = 0; i < 10; ++i) start(i, static_cast<std::size_t>(10 * i));
    std::ifstream lines(file_);
    std::size_t count = 0;
    for (std::string line; std::getline(lines, line);) ++count;
    EXPECT_EQ(count, 10U);
}

TEST_F(RunStarts, AreRejectedIfASlurmJobMakesNoProgress) {
    for (int i = 0; i < 3; ++i) start(i, 12);

    const std::string message = catch_message<ConfigError>([&] { start(3, 12); });

    EXPECT_EQ(message,
              "Slurm's job 4711 was started 3 times after step 12 and never got further; find the cause in "
              "the log of the job, give it more --time or another node, and remove " +
                  file_ + " before you start it again");
    EXPECT_THROW(start(4, 12), ConfigError);  // the rejected start was not recorded
    EXPECT_NO_THROW(start(3, 13));
}

TEST_F(RunStarts, AreCountedFromTheLastThatMadeProgress) {
    start(0, 0);
    start(1, 0);
    start(2, 5);
    start(3, 5);
    EXPECT_NO_THROW(start(4, 5));
    EXPECT_THROW(start(5, 5), ConfigError);
}

TEST_F(RunStarts, AreCountedOnlyForRestartsOfTheSameJob) {
    for (int i = 0; i < 5; ++i) start(0, 12, "");
    EXPECT_NO_THROW(start(1, 12, "4712"));
    for (int i = 0; i < 5; ++i)
        EXPECT_NO_THROW(start(0, 12)) << "a job that was submitted again is not a restart";
}

TEST_F(RunStarts, SkipDamagedLines) {
    start(0, 12);
    std::ofstream(file_, std::ios::app) << "{\"started\": \"20\n[]\n\n";
    start(1, 12);
    EXPECT_NO_THROW(start(2, 12));
    EXPECT_THROW(start(3, 12), ConfigError);
}

}  // namespace
}  // namespace trireme::records
