#include <gtest/gtest.h>

#include "app/options/options.hpp"
#include "unit/app/arguments.hpp"
#include "unit/app/temporary_file.hpp"

namespace trireme::app {
namespace {

const std::string complete_line = "simulate --cluster c.json --ranks 4 --corpus a.h5 --steps 5 ";

tools::SimulateConfig simulate_config(const std::string& line) {
    return std::get<tools::SimulateConfig>(parse(line));
}

TEST(SimulateOptions, NameAClusterAndANumberOfRanks) {
    const tools::SimulateConfig config = simulate_config(complete_line);

    EXPECT_EQ(config.cluster, "c.json");
    EXPECT_EQ(config.ranks, 4);
    EXPECT_TRUE(config.does_math);
    EXPECT_TRUE(simulate_config(complete_line + "--math on").does_math);
}

TEST(SimulateOptions, UseTheGhostDeviceAndNoCorpusWithoutArithmetic) {
    const tools::SimulateConfig config = simulate_config(
        "simulate --cluster c.json --ranks 4 --steps 1 --math off --dtype bf16 --charge passes");

    const TemporaryFile handed_on("handed-on.ini", config.train_options);
    const config::RunConfig run = std::get<TrainCommand>(parse("train --config " + handed_on.path())).config;
    EXPECT_EQ(run.precision.device, config::DeviceKind::ghost);
    EXPECT_EQ(run.precision.dtype, config::Precision::bf16);
    EXPECT_EQ(run.costs.charging, config::Charging::passes);
}

TEST(SimulateOptions, PassOnTheOptionsOfTraining) {
    const TemporaryFile first("simulate.ini", "[layout]\npipe = 2\n[schedule]\nmicrobatches = 4\n");

    const tools::SimulateConfig config =
        simulate_config(complete_line + "--run-dir=runs/a#b --config " + first.path() + " --microbatches 6");

    const TemporaryFile handed_on("handed-on.ini", config.train_options);
    const config::RunConfig run = std::get<TrainCommand>(parse("train --config " + handed_on.path())).config;
    EXPECT_EQ(run.costs.cluster, "c.json");
    EXPECT_EQ(run.data.corpus, "a.h5");
    EXPECT_EQ(run.run.steps, 5U);
    EXPECT_EQ(run.run.run_dir, "runs/a#b");
    EXPECT_EQ(run.layout.pipe, 2);
    EXPECT_EQ(run.schedule.microbatches, 6U);
}

TEST(SimulateOptions, AreCheckedBeforeAnythingStarts) {
    EXPECT_EQ(complaint("simulate --ranks 2 --corpus a.h5 --steps 5"),
              "no cluster is given; name its description with --cluster FILE.json (perf/clusters has "
              "examples)");
    EXPECT_EQ(complaint("simulate --cluster c.json --corpus a.h5 --steps 5"),
              "nothing says how many ranks there are; give --ranks N");
    EXPECT_EQ(complaint("simulate --cluster c.json --ranks 2 --steps 5"),
              "no corpus is given; name one with --corpus FILE.h5 (`trireme prepare` makes it)");
    EXPECT_EQ(complaint(complete_line + "--piep 2"), "unknown option --piep; did you mean --pipe?");
    EXPECT_EQ(complaint(complete_line + "rows"),
              "simulate takes options only, but 'rows' is neither an option nor the value of one; see trireme simulate --help");
}

TEST(SimulateOptions, AllowAClusterAndItsNetworkForPlans) {
    EXPECT_EQ(complaint("plan --cluster c.json"), "");
    EXPECT_EQ(complaint("plan --cluster c.json --network free"), "");
}

}  // namespace
}  // namespace trireme::app
