// What a run says of what it consumed.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "scratch_folder.hpp"
#include "train/run_directory.hpp"
#include "train/step_energy.hpp"

namespace trireme {
namespace {

using nlohmann::json;
using validation::read_whole;
using validation::ScratchFolder;

TEST(EnergyRecord, OfAStepIsThatOfAllRanks) {
    const ScratchFolder folder;
    StepOutcome outcome{.size = {.tokens = 1, .targets = 1}, .seconds = 1};
    outcome.joules_of_ranks = {2, 3.5};

    RunDirectory(folder.file("run")).add_step(1, outcome, {}, 1);

    EXPECT_EQ(json::parse(read_whole(folder.file("run/steps.jsonl"))).at("energy_j"), 5.5);
}

TEST(EnergyRecord, OfARunIsThatOfAllAndOfEach) {
    const ScratchFolder folder;
    RunDirectory directory(folder.file("run"));
    Figures figures;
    directory.write_summary(figures);
    EXPECT_FALSE(json::parse(read_whole(folder.file("run/summary.json"))).contains("energy_j"));
    figures.joules_of_ranks = {4, 7};

    directory.write_summary(figures);

    const json summary = json::parse(read_whole(folder.file("run/summary.json")));
    EXPECT_EQ(summary.at("energy_j"), 11);
    EXPECT_EQ(summary.at("energy_j_of_ranks"), json({4, 7}));
}

TEST(StepEnergy, IsNoNumberWhereNothingMeasures) {
    StepEnergy energy;
    energy.begin();

    EXPECT_TRUE(std::isnan(energy.take()));
}

}  // namespace
}  // namespace trireme
