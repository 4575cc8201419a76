// A run that is requested to stop ends after a step, with a checkpoint, and resumes from it bit for bit.
#include <array>

#include "messages/workplace.hpp"

namespace trireme::messages {
namespace {

constexpr int stopped = 75;

class Stop : public Workplace {
protected:
    // signalled.sh SIGNAL PROGRAM... becomes the program, and gets the signal once a step is recorded.
    void SetUp() override {
        make_corpus();
        write("signalled.sh",
              "signal=$1; shift\n"
              "(until [ -s run/steps.jsonl ] || ! kill -0 $$; do sleep 0.01; done; kill -$signal $$) > "
              "/dev/null 2>&1 &\n"
              "exec \"$@\"\n");
    }

    static std::string command(std::size_t mpi, const std::string& options, int steps = 400) {
        return program_path(mpi) +
               " train --corpus corpus.h5 --layers 2 --width 16 --heads 2 --max-length 16 --device reference "
               "--threads 1 "
               "--batch 4 "
               "--steps " +
               std::to_string(steps) + ' ' + options;
    }

    Outcome run_pair(std::size_t mpi, const std::string& options) const {
        return run_ranks({command(mpi, options), command(mpi, options)}, mpi);
    }

    // Runs two ranks and sends a signal to the second.
    Outcome run_signalled(std::size_t mpi, const std::string& signal, const std::string& options) const {
        return run_ranks({command(mpi, options), "sh signalled.sh " + signal + ' ' + command(mpi, options)},
                         mpi);
    }

    // Returns the number of recorded steps.
    std::size_t recorded_steps(const std::string& run_dir) const { return losses_of(run_dir).size(); }
};

TEST_F(Stop, SavesACheckpointOnSignalsAndResumesBitForBit) {
    for (std::size_t mpi = 0; mpi < mpi_libraries(); ++mpi) {
        ASSERT_EQ(run_pair(mpi, "--data 2 --run-dir whole").code, 0);
        for (const std::string signal : {"USR1", "TERM", "INT"}) {
            const Outcome outcome = run_signalled(mpi, signal, "--data 2 --run-dir run");

            EXPECT_EQ(outcome.code, stopped) << outcome.err;
            const std::size_t steps = recorded_steps("run");
            EXPECT_LT(steps, 400U);
            const std::string words = "after step " + std::to_string(steps) + " of 400: SIG" + signal +
                                      " came to rank 1; resume with --resume auto";
            EXPECT_NE(outcome.out.find(words), std::string::npos) << outcome.out;
            EXPECT_EQ(read("run/checkpoints/latest"), "step-" + std::to_string(steps) + "\n");
            EXPECT_NE(read("run/summary.json").find("\"because\": \"SIG" + signal + " came to rank 1\""),
                      std::string::npos);

            EXPECT_EQ(run_pair(mpi, "--data 2 --run-dir run --resume auto").code, 0);
            EXPECT_EQ(losses_of("run"), losses_of("whole"));
            std::filesystem::remove_all(path("run"));
        }
        std::filesystem::remove_all(path("whole"));
    }
}

// Open MPI's launcher sends SIGTERM to the other rank, and kills it soon afterwards.
TEST_F(Stop, ReportsHowToResumeIfARankDies) {
    write("signalled.sh",
          "signal=$1; shift\n"
          "(until [ -s run/checkpoints/latest ] || ! kill -0 $$; do sleep 0.01; done; kill -$signal $$) > "
          "/dev/null 2>&1 &\n"
          "exec \"$@\"\n");

    const Outcome outcome = run_signalled(0, "KILL", "--data 2 --checkpoint-every 2 --run-dir run");

    EXPECT_NE(outcome.code, 0);
    EXPECT_NE(outcome.err.find("trireme: rank 0 received SIGTERM: the run stops after its current step"),
              std::string::npos)
        << outcome.err;
    EXPECT_NE(outcome.err.find("continue the run with --resume auto --run-dir run (step "), std::string::npos)
        << outcome.err;
}

// With these schedules ranks are several steps apart, and learn of the signal at different times.
TEST_F(Stop, FinishesStepsInFlight) {
    for (const std::string schedule : {"pipedream-2bw", "pipedream --tied off", "zb-h2"}) {
        const std::string options = "--pipe 2 --microbatches 4 --schedule " + schedule + " --run-dir run";

        EXPECT_EQ(run_signalled(0, "USR1", options).code, stopped) << schedule;

        const std::size_t steps = recorded_steps("run");
        EXPECT_EQ(read("run/checkpoints/latest"), "step-" + std::to_string(steps) + "\n");
        const Outcome again = run_pair(0, options + " --resume auto");
        EXPECT_EQ(again.code, 0) << again.err;
        EXPECT_EQ(recorded_steps("run"), 400U);
        std::filesystem::remove_all(path("run"));
    }
}

TEST_F(Stop, HappensBeforeTheTimeLimit) {
    const Outcome outcome = run(
        Workplace::words(command(0, "--time-limit 1s --run-dir run").substr(program_path(0).size() + 1)), 0, 0);

    EXPECT_EQ(outcome.code, stopped) << outcome.err;
    EXPECT_NE(outcome.out.find("after step 1 of 400: --time-limit 1s is near"), std::string::npos)
        << outcome.out;
    EXPECT_EQ(read("run/checkpoints/latest"), "step-1\n");
}

TEST_F(Stop, HappensBeforeTheEndOfASlurmJob) {
    const std::string job = "env SLURM_JOB_ID=4711 SLURM_JOB_END_TIME=1700000000 ";

    const Outcome outcome = run_ranks({job + command(0, "--run-dir run")}, 0);

    EXPECT_EQ(outcome.code, stopped) << outcome.err;
    EXPECT_NE(outcome.out.find("the end of Slurm's job 4711 is near"), std::string::npos) << outcome.out;
}

TEST_F(Stop, EndsASlurmJobThatMakesNoProgress) {
    const auto restart = [&](int number) {
        const std::string job = "env SLURM_JOB_ID=4711 SLURM_RESTART_COUNT=" + std::to_string(number) + ' ';
        return run_ranks({job + command(0, "--on-nan stop --lr 1e30 --clip 1e30 --run-dir run --resume auto")},
                         0);
    };
    for (int number = 0; number < 3; ++number)
        EXPECT_NE(restart(number).err.find("has loss"), std::string::npos);

    const Outcome outcome = restart(3);

    EXPECT_EQ(outcome.code, 2);
    EXPECT_NE(outcome.err.find("Slurm's job 4711 was started 3 times after step 0 and never got further"),
              std::string::npos)
        << outcome.err;
}

using SharedRunDirectory = Stop;

// The second job must not look like a rank of the first, so its environment is cleared.
TEST_F(SharedRunDirectory, IsRejectedWithTheJobThatUsesIt) {
    write("second.sh",
          "(until [ -s run/steps.jsonl ] || ! kill -0 $$; do sleep 0.01; done\n"
          "env -i PATH=\"$PATH\" SLURM_JOB_ID=4712 " +
              command(0, "--run-dir run --resume auto") +
              " > second.out 2> second.err; echo $? > second.code; kill -USR1 $$) > /dev/null 2>&1 &\n"
              "exec env SLURM_JOB_ID=4711 \"$@\"\n");

    const Outcome first = run_ranks({"sh second.sh " + command(0, "--run-dir run", 1'000'000)}, 0);

    EXPECT_EQ(first.code, stopped) << first.err;
    EXPECT_EQ(read("second.code"), "2\n");
    EXPECT_NE(read("second.err").find("the run directory run is in use by Slurm's job 4711, process "),
              std::string::npos)
        << read("second.err");
    EXPECT_EQ(read("second.out"), "");
}

TEST_F(Stop, RejectsAnInvalidTimeLimit) {
    expect_train_refusal("--time-limit 3x",
                         {"--time-limit expects a span of time, such as 3h50m, 90m or 45s, not '3x'"});
}

}  // namespace
}  // namespace trireme::messages
