#include "trireme/base/job.hpp"

#include <gtest/gtest.h>

#include <string_view>

namespace trireme {
namespace {

TEST(Job, IsEmptyOutsideSlurm) {
    const SlurmJob job = read_slurm_job([](const char*) -> const char* { return nullptr; });
    EXPECT_EQ(job.id, "");
    EXPECT_EQ(job.restarts, 0);
    EXPECT_FALSE(job.end_time || job.cores_per_rank || job.local_rank || job.visible_devices);
}

TEST(Job, IsReadFromSlurmVariables) {
    const SlurmJob job = read_slurm_job([](const char* name) -> const char* {
        const std::string_view asked(name);
        if (asked == "SLURM_JOB_ID") return "4711";
        if (asked == "SLURM_RESTART_COUNT") return "2";
        if (asked == "SLURM_JOB_END_TIME") return "1700000000";
        if (asked == "SLURM_CPUS_PER_TASK") return "8";
        if (asked == "SLURM_LOCALID") return "3";
        return asked == "CUDA_VISIBLE_DEVICES" ? "" : nullptr;
    });
    EXPECT_EQ(job.id, "4711");
    EXPECT_EQ(job.restarts, 2);
    EXPECT_EQ(job.end_time, 1700000000.0);
    EXPECT_EQ(job.cores_per_rank, 8);
    EXPECT_EQ(job.local_rank, 3);
    EXPECT_EQ(job.visible_devices, "");  // an empty list allows no GPU; without a list all are visible
}

TEST(Job, TakesTheLocalRankFromMpirunWithinSlurm) {
    const SlurmJob job = read_slurm_job([](const char* name) -> const char* {
        const std::string_view asked(name);
        if (asked == "SLURM_LOCALID") return "0";  // set for the script that called mpirun
        return asked == "OMPI_COMM_WORLD_LOCAL_RANK" ? "1" : nullptr;
    });
    EXPECT_EQ(job.local_rank, 1);
}

TEST(Job, ComputesTheSecondsUntilItsEnd) {
    EXPECT_FALSE(compute_seconds_left({}));
    EXPECT_LT(*compute_seconds_left({.end_time = 1700000000}), 0);  // in November 2023
    EXPECT_GT(*compute_seconds_left({.end_time = 1e11}), 0);
}

TEST(Job, IgnoresVariablesThatAreNotNumbers) {
    const SlurmJob job = read_slurm_job([](const char*) -> const char* { return "4(x2)"; });
    EXPECT_EQ(job.restarts, 0);
    EXPECT_FALSE(job.end_time || job.cores_per_rank || job.local_rank);
}

}  // namespace
}  // namespace trireme
