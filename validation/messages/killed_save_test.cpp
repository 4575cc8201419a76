// A job that loses a rank while it writes a checkpoint resumes from a complete one, bit for bit.
#include <algorithm>

#include "messages/workplace.hpp"

namespace trireme::messages {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t ranks = 3;

// The state of the checkpoint after step 6 that triggers the kill. The save may progress until the kill.
struct Moment {
    const char* name;
    const char* trigger;      // the file whose existence triggers the kill
    std::size_t killed_rank;  // the rank that is killed
    bool lasts_long;          // true if the state lasts long enough to be hit within a few attempts
    std::size_t mpi;          // number of the MPI library, if there are several
};

void PrintTo(const Moment& moment, std::ostream* out) { *out << moment.name; }  // for GoogleTest

class JobKilledWhileSaving : public Workplace, public testing::WithParamInterface<Moment> {
protected:
    // struck.sh PATTERN PROGRAM... becomes the program. It is killed once a file that matches the pattern, or
    // the complete checkpoint, exists.
    void SetUp() override {
        make_corpus();
        write("struck.sh",
              "pattern=$1; shift\n"
              "is_there() { for file in $pattern run/checkpoints/step-6; do [ -e $file ] && return 0; done; "
              "return 1; }\n"
              "(until is_there || ! kill -0 $$; do :; done; kill -KILL $$) > /dev/null 2>&1 &\n"
              "exec \"$@\"\n");
    }

    static std::string command(std::size_t mpi, const std::string& options) {
        return program_path(mpi) +
               " train --corpus corpus.h5 --layers 2 --width 64 --heads 2 --device reference --threads 1 "
               "--batch 4 "
               "--data 3 --lr-schedule constant --warmup-steps 0 --checkpoint-every 3 --stall-timeout 20 " +
               options;
    }

    Outcome run_all(std::size_t mpi, const std::string& options) const {
        return run_ranks(std::vector<std::string>(ranks, command(mpi, options)), mpi);
    }

    Outcome run_with_kill(std::size_t mpi) const {
        std::vector<std::string> commands(ranks, command(mpi, "--steps 1000000 --run-dir run"));
        commands[GetParam().killed_rank].insert(
            0, "sh struck.sh run/checkpoints/" + std::string(GetParam().trigger) + " ");
        return run_ranks(commands, mpi);
    }

    std::size_t newest_step() const {
        return std::stoul(read("run/checkpoints/latest").substr(std::string("step-").size()));
    }

    bool has_partial_checkpoints() const {
        return std::ranges::any_of(fs::directory_iterator(path("run/checkpoints")), [](const auto& entry) {
            return entry.path().filename().string().find("partial") != std::string::npos;
        });
    }
};

// validation/kills kills ranks at random moments under each library.
TEST_P(JobKilledWhileSaving, ResumesFromACompleteCheckpoint) {
    const std::size_t mpi = GetParam().mpi % mpi_libraries();
    Outcome outcome = run_with_kill(mpi);
    for (int more = 5; GetParam().lasts_long && !has_partial_checkpoints() && more > 0; --more) {
        fs::remove_all(path("run"));
        outcome = run_with_kill(mpi);
    }
    EXPECT_NE(outcome.code, 0) << outcome.err;
    EXPECT_TRUE(has_partial_checkpoints() || !GetParam().lasts_long);
    const std::size_t saved = newest_step();
    EXPECT_GE(saved, 3U);
    const std::string steps = "--steps " + std::to_string(saved + 2);

    const Outcome again = run_all(mpi, steps + " --resume auto --run-dir run");
    EXPECT_EQ(again.code, 0) << again.err;
    ASSERT_EQ(run_all(mpi, steps + " --run-dir whole").code, 0);

    EXPECT_EQ(losses_of("run"), losses_of("whole"));
    EXPECT_EQ(losses_of("run").size(), saved + 2);
    EXPECT_FALSE(has_partial_checkpoints());
}

INSTANTIATE_TEST_SUITE_P(Moments, JobKilledWhileSaving,
                         testing::Values(Moment{"AfterItsBeginning", ".step-6.partial-*", 1, true, 0},
                                         Moment{"AfterOnePart", ".step-6.partial-*/part-*-2.h5", 2, true, 1},
                                         Moment{"AfterTheState", ".step-6.partial-*/state.json", 0, false, 0},
                                         Moment{"AfterTheRename", "step-6", 0, false, 1}),
                         [](const auto& at) { return std::string(at.param.name); });

}  // namespace
}  // namespace trireme::messages
