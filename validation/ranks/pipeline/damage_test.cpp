// Invalid programs, and workers that disagree: the engine names the instructions that do not match.
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdio>
#include <cstdlib>

#include "error_message.hpp"
#include "ranks/pipeline/bench.hpp"
#include "trireme/schedule/schedule_text.hpp"

namespace trireme::pipeline {
namespace {

using validation::catch_message;
using validation::says;

// Two ranks with one stage each. Both have their own program and width.
class EngineError : public ::testing::Test {
protected:
    struct Side {
        std::string program;
        std::size_t width = 3;
    };

    // Returns the error message of this rank; "(no error)" on ranks that take no part.
    template <class Error = BugError>
    std::string outcome(const Side& first, const Side& second, bool is_training = false) {
        if (!Bench::is_needed(trial_)) return "(no error)";
        Bench bench(trial_, wait_policy_);
        const Side& own = bench.team() == 0 ? first : second;
        trial_.width = own.width;
        schedule::PipelineShape shape = trial_.shape;
        shape.is_training = is_training;
        shape.slots = 2;
        Engine engine = bench.engine(shape);
        CountingWorker worker = bench.worker(shape);
        const schedule::Program program = schedule::parse_phases_csv(own.program, "the test").body.front();
        const std::string message = catch_message<Error>([&] { engine.execute(program, worker); });
        if (ends_job_ && message != "(no error)") end_job(message);
        settle(bench.team());
        return message;
    }

    // An error ends the job, because after a deadlock ranks cannot do anything together.
    void end_job_with_an_error() { ends_job_ = true; }
    void set_short_patience() { wait_policy_ = {.stall_seconds = 0.05, .expects_stall = true}; }

    bool is_first() const { return world_rank() == world_size() - 2; }
    bool is_second() const { return world_rank() == world_size() - 1; }

    // The start of the message of `rank` when the message of `send` arrives for `receive`.
    static std::string sentence(int rank, const std::string& receive, const std::string& send) {
        return cat("rank ", rank, " posted ", receive, " but received the message of ", send, ": ");
    }

private:
    // Exchanges empty messages. They arrive after all earlier ones, because messages do not overtake each
    // other.
    static void settle(int team) {
        const int peer = world_size() - (team == 0 ? 1 : 2);
        MPI_Sendrecv(nullptr, 0, MPI_BYTE, peer, 0, nullptr, 0, MPI_BYTE, peer, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    }

    [[noreturn]] static void end_job(const std::string& message) {
        std::fprintf(stderr, "%s\n", message.c_str());
        std::_Exit(3);
    }

    bool ends_job_ = false;
    Trial trial_{.schedule = schedule::require_schedule("gpipe"),
                 .shape = schedule::make_grid_shape(2, 1, 1, 2),
                 .teams = make_teams({1, 1}),
                 .rows = {2, 2}};
    device::WaitPolicy wait_policy_{.stall_seconds = 20};
};

TEST_F(EngineError, NamesBothInstructionsIfSendsAreReordered) {
    const std::string message = outcome({"0F0,0F1,0SEND_F1,0SEND_F0"}, {"1RECV_F0,1RECV_F1,1F0,1F1"});

    if (!is_second()) {
        EXPECT_EQ(message, "(no error)");
    } else {
        EXPECT_TRUE(says(message, sentence(world_rank(), "1RECV_F0", "0SEND_F1")));
        EXPECT_TRUE(says(message, "message 0 of 48 bytes from rank 0, but message 1 of 48 bytes came"));
    }
}

TEST_F(EngineError, NamesBothInstructionsIfReceivesAreReordered) {
    const std::string message = outcome({"0F0,0SEND_F0,0F1,0SEND_F1"}, {"1RECV_F1,1RECV_F0,1F0,1F1"});

    if (is_second()) {
        EXPECT_TRUE(says(message, sentence(world_rank(), "1RECV_F0", "0SEND_F1")));
    }
}

TEST_F(EngineError, NamesBothInstructionsIfGradientsAreReordered) {
    const std::string message = outcome({"0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0RECV_B1,0B0,0B1"},
                                        {"1RECV_F0,1RECV_F1,1F0,1F1,1B1,1SEND_B1,1B0,1SEND_B0"}, true);

    if (!is_first()) {
        EXPECT_EQ(message, "(no error)");
    } else {
        EXPECT_TRUE(says(message, sentence(world_rank(), "0RECV_B0", "1SEND_B1")));
    }
}

TEST_F(EngineError, NamesBothInstructionsIfWidthsDiffer) {
    for (const std::size_t width : {2, 4}) {
        const std::string message = outcome({"0F0,0SEND_F0", width}, {"1RECV_F0,1F0"});

        if (is_second()) {
            EXPECT_TRUE(says(message, sentence(world_rank(), "1RECV_F0", "0SEND_F0")));
            EXPECT_TRUE(says(message, width == 2 ? "of 48 bytes from rank 0, but message 0 of 32 bytes came"
                                                 : "but message 0 of more than 48 bytes came"));
        }
    }
}

TEST_F(EngineError, NamesTheInstructionThatWaitsForAMissingSend) {
    set_short_patience();

    const std::string message = outcome<ResourceError>({"0F0"}, {"1RECV_F0,1F0"});

    if (is_second()) {
        EXPECT_TRUE(says(message,
                         "at 1F0, instruction 2 of 2: waited 0.05 s for rank 1's message from rank 0 of "
                         "the activations group"));
    }
}

// Each rank waits for a message that the other sends only after its own wait. The simulator detects the
// deadlock. The error ends the job, so only ranks/pipeline_deadlock runs this test.
TEST_F(EngineError, DISABLED_ReportsADeadlockInACycle) {
    end_job_with_an_error();

    outcome<ResourceError>({"0F0,0RECV_B0,0B0,0SEND_F0"}, {"1RECV_F0,1F0,1B0,1SEND_B0"}, true);
}

}  // namespace
}  // namespace trireme::pipeline
