#include "trireme/rank/stopping.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <ctime>

#include "trireme/device/clock.hpp"

namespace trireme::rank {
namespace {

double seconds_from_now(double seconds) { return static_cast<double>(std::time(nullptr)) + seconds; }

TEST(Stopping, IsNotRequestedByDefault) {
    Stopping stopping(config::RunConfig(), nullptr);
    EXPECT_EQ(stopping.find_stop_reason(1), records::StopReason::none);
}

TEST(Stopping, IsRequestedBeforeTheTimeLimit) {
    config::RunConfig config;
    config.run.time_limit = 3600;
    Stopping far(config, nullptr);
    EXPECT_EQ(far.find_stop_reason(1), records::StopReason::none);
    config.run.time_limit = 4;  // less than a first checkpoint may need
    Stopping near(config, nullptr);
    EXPECT_EQ(near.find_stop_reason(1), records::StopReason::time_limit);
}

TEST(Stopping, LeavesTimeForTheStepsBeforeTheStop) {
    config::RunConfig config;
    config.run.time_limit = 3600;
    Stopping stopping(config, nullptr);
    device::idle_for(0.01);  // the duration of a step
    EXPECT_EQ(stopping.find_stop_reason(1), records::StopReason::none);
    EXPECT_EQ(stopping.find_stop_reason(1'000'000), records::StopReason::time_limit);
}

TEST(Stopping, LeavesTimeForACheckpointLikeEarlierOnes) {
    config::RunConfig config;
    config.run.time_limit = 3600;
    Stopping stopping(config, nullptr);
    stopping.note_save_seconds(3000);
    EXPECT_EQ(stopping.find_stop_reason(1), records::StopReason::time_limit);
}

TEST(Stopping, IsRequestedBeforeSlurmEndsTheJob) {
    config::RunConfig config;
    config.job = {.id = "4711", .end_time = seconds_from_now(3600)};
    EXPECT_EQ(Stopping(config, nullptr).find_stop_reason(1), records::StopReason::none);
    config.job.end_time = seconds_from_now(20);
    EXPECT_EQ(Stopping(config, nullptr).find_stop_reason(1), records::StopReason::end_of_job);
    config.run.time_limit = 1;
    EXPECT_EQ(Stopping(config, nullptr).find_stop_reason(1), records::StopReason::end_of_job);
    EXPECT_EQ(describe({.reason = records::StopReason::end_of_job}, config),
              "the end of Slurm's job 4711 is near");
}

TEST(Stopping, IsRequestedByASignal) {
    const device::StopSignals signals;
    Stopping stopping(config::RunConfig(), &signals);
    EXPECT_EQ(stopping.find_stop_reason(1), records::StopReason::none);
    ::kill(::getpid(), SIGTERM);
    for (int i = 0; i < 10'000 && signals.first_signal() == 0; ++i) ::usleep(1000);
    EXPECT_EQ(stopping.find_stop_reason(1), records::StopReason::terminate);
}

TEST(Stopping, GivesItsReason) {
    config::RunConfig config;
    config.run.time_limit = 13800;
    EXPECT_EQ(describe({.reason = records::StopReason::time_limit}, config), "--time-limit 3h50m is near");
    EXPECT_EQ(describe({.reason = records::StopReason::user_signal, .rank = 2}, config),
              "SIGUSR1 came to rank 2");
    EXPECT_EQ(describe({.reason = records::StopReason::interrupt, .rank = 0}, config), "SIGINT came to rank 0");
    EXPECT_EQ(describe({.reason = records::StopReason::hangup, .rank = 1}, config), "SIGHUP came to rank 1");
}

}  // namespace
}  // namespace trireme::rank
