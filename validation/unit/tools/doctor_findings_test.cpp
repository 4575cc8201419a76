#include <gtest/gtest.h>

#include "tools/doctor/findings.hpp"
#include "unit/tools/doctor_facts.hpp"

namespace trireme::tools::doctor {
namespace {

TEST(Findings, AreGoodForAHealthyMachine) {
    const Facts facts = make_facts(2, 4);

    EXPECT_TRUE(is_everything_working(judge_facts(facts)));
    EXPECT_EQ(finding(facts, "program").text, "0.1.0 (2e29447); GNU 12.2.0; oneDNN 2.6.3");
    EXPECT_EQ(finding(facts, "MPI").text, "Open MPI v4.1.4, started by Open MPI's mpirun");
    EXPECT_EQ(finding(facts, "ranks").text, "8 on 2 hosts: n0 has 0-3; n1 has 4-7");
    EXPECT_EQ(finding(facts, "job").text, "no Slurm job");
    EXPECT_EQ(finding(facts, "memory").text, "60.0 GB of 64.0 GB available on n0, the host with the least");
    EXPECT_EQ(finding(facts, "arithmetic").text, "800.0 GFLOP/s in f32, the total of 8 ranks");
    EXPECT_EQ(finding(facts, "arithmetic").advice, "");
    EXPECT_EQ(finding(facts, "cores").advice, "");
}

TEST(Findings, NameOnlyAFewHosts) {
    EXPECT_EQ(finding(make_facts(10, 1), "ranks").text,
              "10 on 10 hosts: n0 has 0; n1 has 1; n2 has 2; n3 has 3; and 6 more hosts");
}

TEST(Findings, FailIfRanksHaveDifferentBuilds) {
    Facts facts = make_facts(2, 2);
    facts.ranks[2].program = facts.ranks[3].program = "0.2.0 (aaaaaaa)";
    const Finding program = finding(facts, "program");
    facts.ranks[1].mpi_library = "Open MPI v5.0.0";
    const Finding mpi = finding(facts, "MPI");

    EXPECT_EQ(program.status, Status::fails);
    EXPECT_EQ(program.text, "ranks 0,1 have 0.1.0 (2e29447); ranks 2,3 have 0.2.0 (aaaaaaa)");
    EXPECT_EQ(program.advice, "install the same build on all nodes");
    EXPECT_EQ(mpi.status, Status::fails);
    EXPECT_TRUE(has(mpi.text, "rank 1 has Open MPI v5.0.0")) << mpi.text;
    EXPECT_FALSE(is_everything_working(judge_facts(facts)));
}

// This is the classic failure: each process believes that it is the only one.
TEST(Findings, FailIfTheLauncherBelongsToADifferentMpi) {
    Facts facts = make_facts(1, 1);
    facts.start.process_count = 4;
    const Finding by_default = finding(facts, "MPI");
    facts.ranks[0].mpi_library = "MPICH Version: 4.0.2";
    const Finding of_mpich = finding(facts, "MPI");
    facts.start.launcher = Launcher::srun;
    const Finding of_srun = finding(facts, "MPI");
    facts.start.has_pmix = true;
    const Finding of_pmix = finding(facts, "MPI");

    EXPECT_EQ(of_mpich.status, Status::fails);
    EXPECT_EQ(of_mpich.text,
              "MPICH Version: 4.0.2, started by Open MPI's mpirun; the launcher started 4 processes, but MPI "
              "reports 1 rank");
    EXPECT_TRUE(has(of_mpich.advice, "start it with MPICH's mpiexec")) << of_mpich.advice;
    EXPECT_TRUE(has(by_default.advice, "the mpirun of the MPI installation that it was built with"))
        << by_default.advice;
    EXPECT_EQ(of_srun.status, Status::fails);
    EXPECT_TRUE(has(of_srun.advice, "srun --mpi=pmix")) << of_srun.advice;
    EXPECT_TRUE(has(of_pmix.text, "through PMIx; the launcher started 4 processes")) << of_pmix.text;
    EXPECT_TRUE(has(of_pmix.advice, "another type from srun --mpi=list")) << of_pmix.advice;
}

TEST(Findings, StateTheRemainingTimeOfAJob) {
    Facts facts = make_facts(1, 2);
    facts.job = "4711";
    facts.job_seconds_left = 5400;
    const Finding started = finding(facts, "job");
    facts.start = {};
    const Finding not_started = finding(facts, "job");

    EXPECT_EQ(started.text, "Slurm job 4711, 90 minutes left");
    EXPECT_EQ(started.advice, "");
    EXPECT_EQ(not_started.advice, "start with srun or mpirun: without a launcher, only one rank runs");
}

TEST(Findings, WarnAboutRanksThatShareCores) {
    Facts facts = make_facts(1, 4);
    for (RankFacts& rank : facts.ranks) rank.cores = {0, 1};
    const Finding bound = finding(facts, "cores");
    for (RankFacts& rank : facts.ranks) rank.node_cores = 2;
    const Finding small = finding(facts, "cores");

    EXPECT_EQ(bound.status, Status::warning);
    EXPECT_EQ(bound.text, "2 per rank; threads per rank: 1; rank 0 may use 0,1 of the cores 0-3");
    EXPECT_TRUE(has(bound.advice, "4 ranks on n0 share 2 of its 4 cores: give each rank a core of its own"))
        << bound.advice;
    EXPECT_EQ(small.advice, "4 ranks on n0 share 2 of its 2 cores: start fewer ranks per host");
}

TEST(Findings, NameTheRankThatTheOthersWaitFor) {
    Facts facts = make_facts(2, 2);
    facts.ranks[3].flops = 4e10;

    EXPECT_EQ(finding(facts, "arithmetic").status, Status::warning);
    EXPECT_EQ(finding(facts, "arithmetic").advice,
              "rank 3 on n1 reaches 40.0 GFLOP/s, the median rank 100.0: all other ranks will wait for rank 3 "
              "(see --straggler)");
    for (RankFacts& rank : facts.ranks) rank.cores = {0};  // ranks that share a core differ by chance
    EXPECT_EQ(finding(facts, "arithmetic").advice, "");
}

TEST(Findings, ReportTheSlowestHostForScratch) {
    Facts facts = make_facts(3, 1);
    facts.ranks[1].scratch->written_bytes_per_s = 1e8;
    facts.ranks[2].scratch->free_bytes = 1e9;

    const Finding scratch = finding(facts, "scratch");

    EXPECT_EQ(scratch.status, Status::ok);
    EXPECT_EQ(scratch.text,
              "/scratch: writes 100 MB/s, reads 2000 MB/s, 1.0 GB free; lowest values of 3 hosts at once, n1 "
              "writes slowest");
}

TEST(Findings, FailIfAHostCannotWriteScratch) {
    Facts facts = make_facts(3, 1);
    facts.ranks[2].scratch = ScratchFacts{.failure = "--scratch /scratch is no folder"};

    EXPECT_EQ(finding(facts, "scratch").status, Status::fails);
    EXPECT_EQ(finding(facts, "scratch").text, "on n2: --scratch /scratch is no folder");
    EXPECT_EQ(finding(facts, "HDF5").status, Status::fails);
    EXPECT_FALSE(is_everything_working(judge_facts(facts)));
    facts.ranks[2].scratch = ScratchFacts{.hdf5_failure = "an array read back differs from what was written"};
    EXPECT_EQ(finding(facts, "scratch").status, Status::ok);
    EXPECT_EQ(finding(facts, "HDF5").text, "1.10.8 on n2: an array read back differs from what was written");
}

TEST(Findings, ReportTheBestAndTheWorstLink) {
    Facts facts = make_facts(3, 2);
    facts.pairs = {{0, 1, 5e-7, 8e9}, {0, 2, 2e-6, 1e10}, {0, 4, 3e-5, 1e9}};

    EXPECT_EQ(finding(facts, "link inside").text, "0.50 us, 8.00 GB/s between ranks 0 and 1 on one host");
    EXPECT_EQ(finding(facts, "link between").text,
              "best 2.00 us, 10.00 GB/s between ranks 0 and 2 on two hosts; worst 30.00 us, 1.00 GB/s between "
              "ranks 0 and 4");
    EXPECT_EQ(finding(facts, "link between").advice,
              "check the network of n2, or exclude this host (srun --exclude)");
    EXPECT_EQ(finding(make_facts(1, 1), "links").status, Status::missing);
}

TEST(Findings, SayHowToInstallMissingParts) {
    Facts facts = make_facts(1, 2);
    facts.optional_software = {{.name = "SimGrid",
                                .is_installed = false,
                                .purpose = "smpirun",
                                .needs_rebuild = true,
                                .debian = "libsimgrid-dev",
                                .spack = "simgrid +smpi"},
                               {.name = "Slurm",
                                .is_installed = true,
                                .purpose = "srun",
                                .needs_rebuild = false,
                                .debian = "",
                                .spack = ""}};

    EXPECT_EQ(finding(facts, "SimGrid").status, Status::missing);
    EXPECT_EQ(finding(facts, "SimGrid").advice,
              "install it (Debian: libsimgrid-dev; Spack: simgrid +smpi), then build Trireme again");
    EXPECT_EQ(finding(facts, "Slurm").status, Status::ok);
    EXPECT_EQ(finding(facts, "Slurm").advice, "");
    EXPECT_TRUE(is_everything_working(judge_facts(facts)));  // a run needs no optional part
}

TEST(Findings, NameTheControlGroupThatLimitsMemory) {
    Facts facts = make_facts(1, 1);
    facts.ranks[0].available_bytes = 6e9;
    facts.ranks[0].memory_group = "/slurm/job_7";
    facts.ranks[0].memory_group_bytes = 8e9;

    EXPECT_EQ(
        finding(facts, "memory").text,
        "6.0 GB available on n0: the memory control group /slurm/job_7 limits memory to 8.0 GB of 64.0 GB");
}

}  // namespace
}  // namespace trireme::tools::doctor
