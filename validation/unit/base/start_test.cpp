#include <gtest/gtest.h>

#include <string_view>

#include "trireme/base/job.hpp"

namespace trireme {
namespace {

TEST(Start, SaysWhoStartedIt) {
    const Start alone = start_of([](const char*) -> const char* { return nullptr; });
    const Start open_mpi = start_of([](const char* name) -> const char* {
        const std::string_view asked(name);
        if (asked == "SLURM_STEP_ID" || asked == "SLURM_PROCID") return "0";
        if (asked == "SLURM_STEP_NUM_TASKS") return "1";
        if (asked == "OMPI_COMM_WORLD_RANK") return "2";
        return asked == "OMPI_COMM_WORLD_SIZE" ? "4" : nullptr;
    });
    const Start mpich = start_of([](const char* name) -> const char* {
        const std::string_view asked(name);
        if (asked == "PMI_RANK" || asked == "MPI_LOCALRANKID") return "1";
        return asked == "PMI_SIZE" ? "3" : nullptr;
    });

    EXPECT_EQ(alone.launcher, Launcher::none);
    EXPECT_EQ(alone.processes, 1);
    EXPECT_EQ(open_mpi.launcher, Launcher::mpirun_of_open_mpi);  // mpirun runs inside a Slurm step of one task
    EXPECT_EQ(open_mpi.process, 2);
    EXPECT_EQ(open_mpi.processes, 4);
    EXPECT_EQ(mpich.launcher, Launcher::mpiexec_of_mpich);
    EXPECT_EQ(mpich.process, 1);
    EXPECT_EQ(mpich.processes, 3);
}

TEST(Start, SaysHowSrunAndMpiWouldTalk) {
    const Start pmix = start_of([](const char* name) -> const char* {
        const std::string_view asked(name);
        if (asked == "SLURM_STEP_ID" || asked == "SLURM_PROCID" || asked == "PMIX_RANK") return "1";
        return asked == "SLURM_STEP_NUM_TASKS" ? "2" : nullptr;
    });
    const Start pmi = start_of([](const char* name) -> const char* {
        const std::string_view asked(name);
        if (asked == "SLURM_STEP_ID" || asked == "PMI_RANK") return "1";
        return asked == "PMI_SIZE" ? "2" : nullptr;
    });

    EXPECT_EQ(pmix.launcher, Launcher::srun);
    EXPECT_EQ(pmix.process, 1);
    EXPECT_EQ(pmix.processes, 2);
    EXPECT_TRUE(pmix.has_pmix);
    EXPECT_FALSE(pmix.has_pmi);
    EXPECT_EQ(pmi.launcher, Launcher::srun);
    EXPECT_EQ(pmi.processes, 2);
    EXPECT_TRUE(pmi.has_pmi);
}

// Slurm also sets a process number for an sbatch script, but the script belongs to no step.
TEST(Start, IsNobodysInAScript) {
    const Start start = start_of([](const char* name) -> const char* {
        const std::string_view asked(name);
        if (asked == "SLURM_PROCID" || asked == "SLURM_NODEID") return "0";
        return asked == "SLURM_STEP_NUM_TASKS" ? "1" : nullptr;
    });

    EXPECT_EQ(start.launcher, Launcher::none);
}

}  // namespace
}  // namespace trireme
