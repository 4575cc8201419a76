#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "scratch_folder.hpp"
#include "tools/doctor/findings.hpp"
#include "tools/doctor/gpus.hpp"
#include "unit/tools/doctor_facts.hpp"

namespace trireme::tools::doctor {
namespace {

namespace fs = std::filesystem;

const std::vector<Gpu> four() {
    return {{"H100", "GPU-aa"}, {"H100", "GPU-ab"}, {"H100", "GPU-ba"}, {"H100", "GPU-bb"}};
}

std::string ids(const std::vector<Gpu>& gpus) {
    std::string text;
    for (const Gpu& gpu : gpus) text += gpu.id + " ";
    return text;
}

TEST(VisibleGpus, FollowCudaVisibleDevices) {
    EXPECT_EQ(select_visible_gpus(four(), std::nullopt), four());
    EXPECT_EQ(ids(select_visible_gpus(four(), "2,0")), "GPU-ba GPU-aa ");
    EXPECT_EQ(ids(select_visible_gpus(four(), "GPU-bb,GPU-ab")), "GPU-bb GPU-ab ");
    EXPECT_EQ(ids(select_visible_gpus(four(), "MIG-7")), "MIG-7 ");
    EXPECT_EQ(ids(select_visible_gpus(four(), "")), "");
    EXPECT_EQ(ids(select_visible_gpus(four(), "1,-1,2")),
              "GPU-ab ");  // CUDA reads the list up to the first invalid entry
    EXPECT_EQ(ids(select_visible_gpus(four(), "NoDevFiles")), "");  // Slurm's word for no GPU
    EXPECT_EQ(ids(select_visible_gpus({}, "0,MIG-7")), "");
}

TEST(ChosenGpu, IsTheOnlyOneOrTheOneOfItsLocalRank) {
    EXPECT_EQ(choose_gpu(four(), 2), four()[2]);
    EXPECT_EQ(choose_gpu({four()[3]}, 2), four()[3]);
    EXPECT_EQ(choose_gpu(four(), 5), four()[1]);
    EXPECT_EQ(choose_gpu({}, 0), std::nullopt);
}

TEST(MachineGpus, AreSortedByDeviceNumber) {
    const validation::ScratchFolder scratch;
    const fs::path root = scratch.file("");
    const auto driver = root / "proc/driver/nvidia/gpus/0000:17:00.0";
    fs::create_directories(driver);
    fs::create_directories(root / "dev");
    std::ofstream(driver / "information")
        << "Model: \t\t NVIDIA H100\nGPU UUID: \t GPU-5d\nDevice Minor: \t 10\n";
    for (const char* name : {"nvidia10", "nvidia2", "nvidiactl", "nvidia-uvm"})
        std::ofstream(root / "dev" / name);

    EXPECT_EQ(find_usable_gpus(root),
              (std::vector<Gpu>{{"NVIDIA device", "2"}, {"NVIDIA H100", "GPU-5d", "0000:17:00.0"}}));
    EXPECT_EQ(count_gpus(root), 2);
    EXPECT_TRUE(find_usable_gpus(root / "none").empty());
}

Facts with_gpus(int hosts, int ranks_of_host) {
    Facts facts = make_facts(hosts, ranks_of_host);
    facts.has_cuda = true;
    for (RankFacts& rank : facts.ranks) {
        rank.node_gpus = 4;
        rank.gpus = four();
    }
    return facts;
}

TEST(GpuFinding, IsGoodIfEachRankHasItsOwnGpu) {
    EXPECT_EQ(finding(with_gpus(2, 4), "GPUs").status, Status::ok);
    EXPECT_EQ(finding(with_gpus(2, 4), "GPUs").text, "8 x H100, one per rank");
}

constexpr const char* cost_of_sharing =
    ": messages go through host memory, and each rank gets only a fraction of the GPU's time and memory";

TEST(GpuFinding, ExplainsTheCostOfMoreRanksThanGpus) {
    const Facts facts = with_gpus(1, 5);
    const Finding gpus = finding(facts, "GPUs");

    EXPECT_EQ(gpus.status, Status::missing);
    EXPECT_EQ(gpus.text, cat("ranks 0 and 4 share H100 GPU-aa of n0", cost_of_sharing));
    EXPECT_TRUE(has(gpus.advice, "start one rank per GPU of the node")) << gpus.advice;
    EXPECT_TRUE(is_everything_working(judge_facts(facts)));
}

TEST(GpuFinding, FailsIfOnlySomeRanksHaveAGpu) {
    Facts facts = with_gpus(2, 2);
    facts.ranks[3].gpus.clear();

    EXPECT_EQ(finding(facts, "GPUs").status, Status::fails);
    EXPECT_EQ(finding(facts, "GPUs").text, "rank 3 finds no GPU on n1, but other ranks find some");
}

TEST(GpuFinding, NamesTheRanksThatShareAGpu) {
    Facts facts = with_gpus(2, 2);
    for (std::size_t rank = 0; rank < 4; ++rank)
        facts.ranks[rank].gpus = {four()[rank % 2]};  // --gpus-per-task=1
    const Finding apart = finding(facts, "GPUs");
    facts.ranks[3].gpus = facts.ranks[2].gpus;
    const Finding shared = finding(facts, "GPUs");

    EXPECT_EQ(apart.status, Status::ok);
    EXPECT_EQ(shared.status, Status::missing);
    EXPECT_EQ(shared.text, cat("ranks 2 and 3 share H100 GPU-aa of n1", cost_of_sharing));
}

TEST(GpuFinding, ReportsGpusThatNoRankMayUse) {
    Facts facts = with_gpus(1, 2);
    for (RankFacts& rank : facts.ranks) rank.gpus.clear();
    const Finding hidden = finding(facts, "GPUs");
    for (RankFacts& rank : facts.ranks) rank.node_gpus = 0;
    const Finding none = finding(facts, "GPUs");

    EXPECT_EQ(hidden.status, Status::missing);
    EXPECT_EQ(hidden.text, "n0 has 4 NVIDIA devices, but no rank may use a GPU");
    EXPECT_TRUE(has(hidden.advice, "srun --gpus-per-task=1")) << hidden.advice;
    EXPECT_EQ(none.text, "no NVIDIA device was found");
}

TEST(GpuFinding, NeverFailsForAProgramWithoutCuda) {
    Facts facts = with_gpus(1, 2);
    facts.ranks[1].gpus.clear();
    facts.has_cuda = false;

    EXPECT_EQ(finding(facts, "GPUs").status, Status::missing);
    EXPECT_EQ(
        finding(facts, "GPUs").text,
        "built without CUDA, so kernels run on CPU cores; rank 1 finds no GPU on n0, but other ranks find "
        "some");
    EXPECT_TRUE(is_everything_working(judge_facts(facts)));
}

}  // namespace
}  // namespace trireme::tools::doctor
