// Tests what a run records about its energy and its GPUs.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "scratch_folder.hpp"
#include "trireme/records/run_directory.hpp"

namespace trireme::rank {
namespace {

using nlohmann::json;
using validation::read_whole;
using validation::ScratchFolder;

TEST(EnergyRecord, AddsUpTheRanksOfAStep) {
    const ScratchFolder folder;
    records::StepOutcome outcome{.size = {.tokens = 1, .targets = 1}, .seconds = 1};
    outcome.energy_of_ranks = {{.compute = 1, .blocked = 0.5, .idle = 0.5},
                               {.compute = 2, .blocked = 1, .idle = 0.5}};

    records::RunDirectory(folder.file("run")).add_step(1, outcome, {}, 1);

    const json step = json::parse(read_whole(folder.file("run/steps.jsonl")));
    EXPECT_EQ(step.at("energy_j"), 5.5);
    EXPECT_EQ(step.at("energy_phases_j"),
              json({{"compute", 3}, {"blocked", 1.5}, {"idle", 1}, {"derived", true}}));
}

TEST(EnergyRecord, ContainsTheTotalAndThePerRankEnergyOfARun) {
    const ScratchFolder folder;
    records::RunDirectory directory(folder.file("run"));
    records::Figures figures;
    directory.write_summary(figures);
    EXPECT_FALSE(json::parse(read_whole(folder.file("run/summary.json"))).contains("energy_j"));
    figures.energy_of_ranks = {{.compute = 2, .blocked = 1, .idle = 1}, {.compute = 6, .idle = 1}};

    directory.write_summary(figures);

    const json summary = json::parse(read_whole(folder.file("run/summary.json")));
    EXPECT_EQ(summary.at("energy_j"), 11);
    EXPECT_EQ(summary.at("energy_j_of_ranks"), json({4, 7}));
    EXPECT_EQ(summary.at("energy_phases_j"),
              json({{"compute", {2, 6}}, {"blocked", {1, 0}}, {"idle", {1, 1}}, {"derived", true}}));
}

TEST(EnergyRecord, ContainsTheGpuStateIfItWasMeasured) {
    const ScratchFolder folder;
    records::StepOutcome outcome{.size = {.tokens = 1, .targets = 1}, .seconds = 1};
    records::RunDirectory directory(folder.file("run"));
    directory.add_step(1, outcome, {}, 1);
    EXPECT_FALSE(json::parse(read_whole(folder.file("run/steps.jsonl"))).contains("gpus"));
    outcome.gpus = {.watts = {300, 310.5}, .clock_mhz = {1755, 1980}, .used_bytes = {5e9, 6e9}};

    directory.add_step(2, outcome, {}, 1);

    const std::string lines = read_whole(folder.file("run/steps.jsonl"));
    EXPECT_EQ(json::parse(lines.substr(lines.find('\n'))).at("gpus"),
              json({{"watts", {300, 310.5}}, {"clock_mhz", {1755, 1980}}, {"used_bytes", {5e9, 6e9}}}));
}

TEST(EnergyRecord, ContainsTheDriverAndTheRanksThatShareAGpu) {
    const ScratchFolder folder;
    records::RunDirectory directory(folder.file("run"));
    records::Manifest set_plan;
    set_plan.gpu_driver = "550.54.15";
    set_plan.ranks_of_gpu = {2, 2};

    directory.write_manifest(set_plan);

    const json manifest = json::parse(read_whole(folder.file("run/manifest.json")));
    EXPECT_EQ(manifest.at("gpu_driver"), "550.54.15");
    EXPECT_EQ(manifest.at("ranks_of_gpu"), json({2, 2}));
}

}  // namespace
}  // namespace trireme::rank
