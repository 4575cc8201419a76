// A job one of whose ranks hangs or dies: it ends, and prints the current instructions of the other ranks.
#include <regex>

#include "messages/workplace.hpp"

namespace trireme::messages {
namespace {

// Three stages on three ranks, which would train forever.
class Watchdog : public Workplace {
protected:
    static constexpr int ranks = 3;

    // heard.sh FILE PROGRAM... becomes the program and appends its errors to the file, because the launcher of
    // a busy machine may lose a rank's last lines. struck.sh SIGNAL FILE PROGRAM... becomes the program, and
    // gets the signal once the file has a line.
    void SetUp() override {
        make_corpus();
        write("heard.sh", "file=$1; shift; exec \"$@\" 2>> $file\n");
        write("struck.sh",
              "signal=$1; file=$2; shift 2\n"
              "(until [ -s $file ] || ! kill -0 $$; do sleep 0.1; done; kill -$signal $$) > /dev/null 2>&1 &\n"
              "exec \"$@\"\n");
    }

    // Runs the job and sends a signal to one rank after the first step.
    Outcome run_with_signal(int victim, const std::string& signal, std::size_t mpi) const {
        const std::string run_dir = "run-" + std::to_string(mpi);
        const std::string heard = "heard-" + std::to_string(mpi);
        const std::string command = "sh heard.sh " + heard + " " + program_path(mpi) +
                                    " train --corpus corpus.h5 --steps 1000000 --layers 4 --width 16 --heads 2 "
                                    "--pipe 3 --microbatches 4"
                                    " --device reference --threads 1 --quiet --stall-timeout 4 --run-dir " +
                                    run_dir;
        std::vector<std::string> commands(ranks, command);
        commands.at(static_cast<std::size_t>(victim))
            .insert(0, "sh struck.sh " + signal + " " + run_dir + "/steps.jsonl ");
        Outcome outcome = run_ranks(commands, mpi);
        outcome.err = read(heard);
        return outcome;
    }

    static void expect_line(const Outcome& outcome, int rank, const std::string& pattern) {
        const std::regex line("\n  rank " + std::to_string(rank) + " \\([^)]+\\) " + pattern);
        EXPECT_TRUE(std::regex_search(outcome.err, line)) << rank << ' ' << pattern << '\n' << outcome.err;
    }

    // Expects exit code 3 and one message, by the lowest rank that is not stopped.
    void expect_report_of(int stopped) const {
        for (std::size_t mpi = 0; mpi < mpi_libraries(); ++mpi) {
            const Outcome outcome = run_with_signal(stopped, "STOP", mpi);

            EXPECT_EQ(outcome.code, 3) << outcome.err;
            ASSERT_EQ(sentences(outcome).size(), 1U) << outcome.err;
            const std::string speaker = "trireme: rank " + std::to_string(stopped == 0 ? 1 : 0) + " (";
            EXPECT_EQ(sentences(outcome).front().rfind(speaker, 0), 0U) << outcome.err;
            for (int rank = 0; rank < ranks; ++rank) {
                expect_line(outcome, rank,
                            rank == stopped
                                ? "does not answer\n"
                                : "(stands at [^ ]+, instruction [0-9]+ of [0-9]+|is between programs)");
            }
        }
    }
};

TEST_F(Watchdog, NamesTheStoppedRank) { expect_report_of(1); }

TEST_F(Watchdog, ReportsFromADifferentRankIfTheFirstIsStopped) { expect_report_of(0); }

TEST_F(Watchdog, LetsAJobFailIfARankIsKilled) {
    for (std::size_t mpi = 0; mpi < mpi_libraries(); ++mpi) {
        const Outcome outcome = run_with_signal(2, "KILL", mpi);

        EXPECT_NE(outcome.code, 0) << outcome.err;
    }
}

}  // namespace
}  // namespace trireme::messages
