// Tests that a job ends if one of its GPUs hangs, and that it reports what each rank waited for.
#include <gtest/gtest.h>

#include <cstdlib>
#include <regex>

#include "messages/workplace.hpp"

namespace trireme::messages {
namespace {

class HungGpu : public Workplace {
protected:
    // The output of all ranks goes to one file: see the tests of Watchdog.
    void SetUp() override {
        make_corpus();
        write("heard.sh", "file=$1; shift; exec \"$@\" 2>> $file\n");
    }

    // Runs ranks that would train forever. The GPU of rank `hung` hangs after `kernels` kernels.
    Outcome train(int ranks, int hung, const std::string& kernels, const std::string& options,
                  int layers = 2) const {
        const std::string command = "sh heard.sh heard " + program_path(on_emulated_gpu()) +
                                    " train --corpus corpus.h5 --steps 1000000 --batch 4 --width 16 "
                                    "--heads 2 --max-length 16 --device cuda --threads 1 --quiet "
                                    "--stall-timeout 4 --run-dir run --layers " +
                                    std::to_string(layers) + " " + options;
        std::vector<std::string> commands(static_cast<std::size_t>(ranks), command);
        commands.at(static_cast<std::size_t>(hung))
            .insert(0, "env TRIREME_EMULATED_GPU_HANGS_AFTER=" + kernels + " ");
        Outcome outcome = run_ranks(commands, 0);
        outcome.err = read("heard");
        return outcome;
    }

    // Expects exit code 3, and one block of text with a line per rank.
    static void expect_lines(const Outcome& outcome, const std::vector<std::string>& lines) {
        EXPECT_EQ(outcome.code, 3) << outcome.err;
        ASSERT_EQ(sentences(outcome).size(), 1U) << outcome.err;
        for (std::size_t rank = 0; rank < lines.size(); ++rank) {
            const std::regex line("\n  rank " + std::to_string(rank) + " \\([^)]+\\) " + lines[rank]);
            EXPECT_TRUE(std::regex_search(outcome.err, line)) << rank << '\n' << outcome.err;
        }
    }

    static constexpr const char* waits_for_gpu =
        "(stands at [^ ]+, instruction [0-9]+ of [0-9]+|is between programs), and its GPU has unfinished "
        "work; waited 4 s for ";
    // With several ranks, the first rank that times out reports all of them; the others may have waited less.
    static constexpr const char* has_hung_gpu =
        "(stands at [^ ]+, instruction [0-9]+ of [0-9]+|is between programs), and its GPU has unfinished "
        "work(; waited 4 s for .*)?\n";
    static constexpr const char* waits_for_rank =
        "(stands at [^ ]+, instruction [0-9]+ of [0-9]+|is between programs)(; waited 4 s for rank .*)?\n";
};

TEST_F(HungGpu, EndsAJobOfOneRank) {
    expect_lines(train(1, 0, "500", ""), {std::string(waits_for_gpu) + "its GPU to finish "});
}

// A step with more kernels than the library queues ahead of the GPU.
TEST_F(HungGpu, EndsAJobThatHasMoreKernelsThanItsQueueHolds) {
    expect_lines(train(1, 0, "500", "", 32), {std::string(waits_for_gpu) + "its GPU to finish "});
}

// Another thread also waits for the GPU.
TEST_F(HungGpu, EndsAJobThatWritesACheckpoint) {
    expect_lines(train(1, 0, "600", "--checkpoint-every 1"), {waits_for_gpu});
}

// Sends do not leave the GPU, so the other rank may be the one that is reported.

TEST_F(HungGpu, EndsAPipelineParallelJob) {
    expect_lines(train(2, 1, "500", "--pipe 2 --microbatches 2"), {waits_for_rank, has_hung_gpu});
}

TEST_F(HungGpu, EndsADataParallelJob) {
    expect_lines(train(2, 0, "700", "--data 2"), {has_hung_gpu, waits_for_rank});
}

// The GPU hangs before the first step, when parameters are initialised.
TEST_F(HungGpu, EndsAJobBeforeItsFirstStep) {
    const Outcome outcome = train(1, 0, "1", "");
    EXPECT_EQ(outcome.code, 3) << outcome.err;
    EXPECT_NE(outcome.err.find("waited 4 s for its GPU to finish "), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace trireme::messages
