// Locking GPU clocks: the messages if that is not possible, and that clocks are released however ranks end.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "messages/workplace.hpp"

namespace trireme::messages {
namespace {

class GpuClock : public Workplace {
protected:
    // Runs two ranks that lock the clocks of a GPU each and end in the given way. Returns the log of the NVML
    // stand-in; see clock_exits.cpp.
    std::string log_of(const std::string& way, std::size_t mpi, const std::string& clocks = "constant",
                       const std::string& play = "well") {
        const std::string log = "log-" + way + "-" + clocks + "-" + std::to_string(mpi);
        const std::string command = "env NVML_STAND_IN_PLAY=" + play +
                                    " NVML_STAND_IN_LOG=" + path(log).string() + " " + program(mpi) + " " +
                                    TRIREME_NVML_STAND_IN + " " + way + " " + clocks;
        outcome_ = run_ranks({command, command}, mpi);
        return std::filesystem::exists(path(log)) ? read(log) : "";
    }

    static std::string program(std::size_t mpi) {
        std::string all = TRIREME_CLOCK_EXITS;
        for (std::size_t i = 0; i < mpi; ++i) all.erase(0, all.find('|') + 1);
        return all.substr(0, all.find('|'));
    }

    // Returns true if the clock was released after the last time that it was locked.
    static bool is_released(const std::string& log, const std::string& bus_id) {
        const std::size_t held = log.rfind("hold " + bus_id + " ");
        const std::size_t released = log.rfind("give back " + bus_id + "\n");
        return held != std::string::npos && released != std::string::npos && held < released;
    }

    // `code` is the expected exit code, if any.
    void expect_released(const std::string& way, std::size_t mpi, std::optional<int> code = std::nullopt) {
        for (const std::string clocks : {"constant", "changing"}) {
            const std::string log = log_of(way, mpi, clocks);
            for (const char* bus_id : {"0000:01:00.0", "0000:65:00.0"})
                EXPECT_TRUE(is_released(log, bus_id))
                    << way << ", " << clocks << ", MPI library " << mpi << ": " << log << outcome_.err;
            if (code) {
                EXPECT_EQ(outcome_.code, *code) << clocks << outcome_.err;
            }
        }
    }

    Outcome outcome_;
};

TEST_F(GpuClock, IsRejectedForRunsWithoutGpus) {
    make_corpus();
    for (const int ranks : {0, 2}) {
        expect_train_refusal("--gpu-clock 1200",
                             {"--gpu-clock 1200 applies to GPUs, but this run uses none; remove --gpu-clock"},
                             ranks);
    }
    expect_train_refusal("--gpu-clock fast", {"--gpu-clock"});
}

TEST_F(GpuClock, IsRejectedForSimulatedDevices) {
    expect_refusal("simulate --math off --cluster cluster.json --ranks 2 --steps 1 --gpu-clock 1200",
                   {"--gpu-clock 1200 applies to GPUs, but a simulated run uses none"});
}

TEST_F(GpuClock, IsReleasedAtTheEnd) {
    for (std::size_t mpi = 0; mpi < mpi_libraries(); ++mpi) {
        expect_released("well", mpi, 0);
        const std::string log = read("log-well-constant-" + std::to_string(mpi));
        EXPECT_EQ(std::ranges::count(log, '\n'), 4) << log;
    }
}

TEST_F(GpuClock, IsReleasedIfAllRanksEndWithAnError) {
    for (std::size_t mpi = 0; mpi < mpi_libraries(); ++mpi) {
        expect_released("together", mpi, 2);
    }
}

TEST_F(GpuClock, IsReleasedIfOneRankAbortsTheJob) {
    for (std::size_t mpi = 0; mpi < mpi_libraries(); ++mpi) {
        expect_released("alone", mpi, 3);
    }
}

// No exit code is expected, because the signals may kill the ranks before they end.
TEST_F(GpuClock, IsReleasedAfterTwoInterrupts) {
    for (std::size_t mpi = 0; mpi < mpi_libraries(); ++mpi) expect_released("two_interrupts", mpi);
}

// Open MPI's launcher sends a signal to the other ranks before it kills them; MPICH's does not.
TEST_F(GpuClock, IsReleasedByOtherRanksIfOneIsKilled) { expect_released("killed", 0); }

TEST_F(GpuClock, IsRejectedOnceWithoutPermission) {
    const std::string log = log_of("well", 0, "constant", "no_permission");

    EXPECT_EQ(outcome_.code, 2) << outcome_.err;
    EXPECT_EQ(log, "");
    ASSERT_EQ(sentences(outcome_).size(), 1U) << outcome_.err;
    EXPECT_NE(sentences(outcome_).front().find("this user may not set the clock of the GPU at 0000:01:00.0"),
              std::string::npos)
        << outcome_.err;
}

}  // namespace
}  // namespace trireme::messages
