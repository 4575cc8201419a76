#include <gtest/gtest.h>

#include <string_view>

#include "trireme/base/job.hpp"

namespace trireme {
namespace {

TEST(Start, IdentifiesTheLauncherRankAndSize) {
    const ProcessStart direct = read_process_start([](const char*) -> const char* { return nullptr; });
    const ProcessStart open_mpi = read_process_start([](const char* name) -> const char* {
        const std::string_view asked(name);
        if (asked == "SLURM_STEP_ID" || asked == "SLURM_PROCID") return "0";
        if (asked == "SLURM_STEP_NUM_TASKS") return "1";
        if (asked == "OMPI_COMM_WORLD_RANK") return "2";
        return asked == "OMPI_COMM_WORLD_SIZE" ? "4" : nullptr;
    });
    const ProcessStart mpich = read_process_start([](const char* name) -> const char* {
        const std::string_view asked(name);
        if (asked == "PMI_RANK" || asked == "MPI_LOCALRANKID") return "1";
        return asked == "PMI_SIZE" ? "3" : nullptr;
    });

    EXPECT_EQ(direct.launcher, Launcher::none);
    EXPECT_EQ(direct.process_count, 1);
    EXPECT_EQ(open_mpi.launcher, Launcher::mpirun_of_open_mpi);  // mpirun runs inside a Slurm step of one task
    EXPECT_EQ(open_mpi.process_index, 2);
    EXPECT_EQ(open_mpi.process_count, 4);
    EXPECT_EQ(mpich.launcher, Launcher::mpiexec_of_mpich);
    EXPECT_EQ(mpich.process_index, 1);
    EXPECT_EQ(mpich.process_count, 3);
}

TEST(Start, DetectsPmixAndPmiUnderSrun) {
    const ProcessStart pmix = read_process_start([](const char* name) -> const char* {
        const std::string_view asked(name);
        if (asked == "SLURM_STEP_ID" || asked == "SLURM_PROCID" || asked == "PMIX_RANK") return "1";
        return asked == "SLURM_STEP_NUM_TASKS" ? "2" : nullptr;
    });
    const ProcessStart pmi = read_process_start([](const char* name) -> const char* {
        const std::string_view asked(name);
        if (asked == "SLURM_STEP_ID" || asked == "PMI_RANK") return "1";
        return asked == "PMI_SIZE" ? "2" : nullptr;
    });

    EXPECT_EQ(pmix.launcher, Launcher::srun);
    EXPECT_EQ(pmix.process_index, 1);
    EXPECT_EQ(pmix.process_count, 2);
    EXPECT_TRUE(pmix.has_pmix);
    EXPECT_FALSE(pmix.has_pmi);
    EXPECT_EQ(pmi.launcher, Launcher::srun);
    EXPECT_EQ(pmi.process_count, 2);
    EXPECT_TRUE(pmi.has_pmi);
}

// Slurm also sets a process number for an sbatch script, but the script belongs to no step.
TEST(Start, HasNoLauncherInAnSbatchScript) {
    const ProcessStart start = read_process_start([](const char* name) -> const char* {
        const std::string_view asked(name);
        if (asked == "SLURM_PROCID" || asked == "SLURM_NODEID") return "0";
        return asked == "SLURM_STEP_NUM_TASKS" ? "1" : nullptr;
    });

    EXPECT_EQ(start.launcher, Launcher::none);
}

}  // namespace
}  // namespace trireme
