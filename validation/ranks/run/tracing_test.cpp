// Traces of all ranks are written to one file, with one time axis.
#include "trireme/rank/tracing.hpp"

#include <gtest/gtest.h>
#include <mpi.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "comm/mpi/mpi_communicator.hpp"
#include "scratch_folder.hpp"
#include "trireme/comm/collectives.hpp"

namespace trireme::run {
namespace {

using nlohmann::json;

class RankTracing : public ::testing::Test {
protected:
    comm::MpiCommunicator control_{MPI_COMM_WORLD, "control", {.stall_seconds = 20}};
    validation::ScratchFolder folder_;
};

// Ranks of one machine share a clock, so the measured offset must be within the error of the reading.
TEST_F(RankTracing, ComparesClocksWithinHalfARoundTrip) {
    const rank::ClockReading reading = rank::compare_clocks(control_);

    EXPECT_LE(std::abs(reading.ahead), reading.round_trip / 2);
    EXPECT_EQ(reading.round_trip > 0, control_.rank() > 0 && !device::time_is_simulated());
    EXPECT_LE(reading.at, device::now_seconds());
}

TEST_F(RankTracing, MeasuresTheOffsetOfAClock) {
    if (device::time_is_simulated()) GTEST_SKIP() << "all ranks have one clock";
    const double ahead = 1000.0 * control_.rank();

    const rank::ClockReading reading =
        rank::compare_clocks(control_, [&] { return device::now_seconds() + ahead; });

    EXPECT_LE(std::abs(reading.ahead - ahead), reading.round_trip / 2 + 1e-9);
}

// Rank r records r + 1 events. Barriers enforce the order of the ranks.
TEST_F(RankTracing, WritesTheEventsOfAllRanks) {
    rank::Tracing tracing({1, 1}, control_);
    tracing.begin_step(1, 0);
    for (int turn = 0; turn < control_.size(); ++turn) {
        if (turn == control_.rank()) {
            for (int event = 0; event <= turn; ++event)
                const device::TraceSpan span(tracing.trace(), device::TraceLane::compute, "turn");
        }
        barrier(control_);
    }

    tracing.write(folder_.file(""), cat("host-", control_.rank()));

    if (control_.rank() > 0) return;
    const json all = json::parse(validation::read_whole(folder_.file("trace.json")));
    std::vector<int> turns;
    std::vector<std::string> names;
    double doubt = 0.01;  // microseconds: rounding, and the errors of clock readings
    double last = 0;
    for (const json& event : all["traceEvents"]) {
        if (event["name"] == "process_name") {
            names.push_back(event["args"]["name"]);
            for (const double seconds : event["args"]["round_trip_s"]) doubt += 1e6 * seconds;
        }
        if (event["name"] != "turn") continue;
        turns.push_back(event["pid"]);
        EXPECT_GE(event["ts"].get<double>(), last - doubt);
        last = event["ts"];
    }
    std::vector<int> expected_turns;
    std::vector<std::string> expected_names;
    for (int rank = 0; rank < control_.size(); ++rank) {
        expected_turns.insert(expected_turns.end(), static_cast<std::size_t>(rank) + 1, rank);
        expected_names.push_back(cat("rank ", rank, " (host-", rank, ")"));
    }
    EXPECT_EQ(turns, expected_turns);
    EXPECT_EQ(names, expected_names);
}

}  // namespace
}  // namespace trireme::run
