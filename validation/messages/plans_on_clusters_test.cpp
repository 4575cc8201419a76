// Compares plans on clusters with simulated runs.
#include <sstream>

#include "messages/simulated_runs.hpp"

namespace trireme::messages {
namespace {

// Steps of a corpus whose samples have 2 to 400 tokens, on GPUs of a described cluster.
class PlansOnClusters : public Simulate {
protected:
    void SetUp() override {
        Simulate::SetUp();
        if (IsSkipped()) return;
        const Outcome outcome = run("prepare --synthetic csn --count 200 --quiet --output rows.h5");
        ASSERT_EQ(outcome.code, 0) << outcome.err;
    }

    // Compares the seconds of each step in the plan, and the joules of a step if the devices have watts, with
    // those of a simulated run with the same options.
    void expect_agreement(const std::string& cluster, int ranks, const std::string& options, double tolerance,
                          const std::string& charge = "auto", int layers = 4) {
        SCOPED_TRACE(options);
        const std::string all =
            "--cluster " + cluster +
            " --corpus rows.h5 --model gpt2 --vocabulary 257 --max-length 400 --steps 3 --layers " +
            std::to_string(layers) + " " + options;
        const json plan = planned(all);
        const std::string folder = "agreement-" + std::to_string(runs_++);
        const Outcome outcome = run("simulate --math off --quiet --ranks " + std::to_string(ranks) +
                                    " --charge " + charge + " --run-dir " + folder + " " + all);
        ASSERT_EQ(outcome.code, 0) << outcome.out << outcome.err;
        EXPECT_EQ(plan.at("prediction").at("unit"), "s");
        ASSERT_EQ(plan.at("steps").size(), 3U);
        for (std::size_t step = 0; step < 3; ++step) {
            const double simulated = steps(folder).at(step).at("seconds");
            EXPECT_NEAR(plan.at("steps").at(step).at("seconds").get<double>(), simulated, tolerance * simulated)
                << "step " << step + 1;
        }
        if (!plan.at("prediction").contains("energy_j") || options.find("zb") != std::string::npos) return;
        // More than 64 ranks do not wait for each other at the end of a step, so that the mean of the steps
        // counts.
        std::vector<json> joules = each(steps(folder), "energy_j");
        if (ranks <= 64) joules.resize(1);
        double simulated_joules = 0;
        for (const json& of_step : joules)
            simulated_joules += of_step.get<double>() / static_cast<double>(joules.size());
        EXPECT_NEAR(plan.at("prediction").at("energy_j").get<double>(), simulated_joules,
                    tolerance * simulated_joules);
    }

    // Writes the schedule of the options to `file`, with a CLOCK before each pass. `find_clocks(team)` returns
    // the clocks of the devices of a team, of which a fixed sequence of draws chooses.
    template <class FindClocks>
    void write_clocked_schedule(const std::string& file, const std::string& options,
                                const FindClocks& find_clocks) const {
        const Outcome outcome = run("plan --format csv " + options);
        ASSERT_EQ(outcome.code, 0) << outcome.err;
        std::istringstream lines(outcome.out);
        std::string text;
        std::size_t draw = 0;
        std::size_t team = 0;
        for (std::string line; std::getline(lines, line); ++team) {
            std::istringstream cells(line);
            const json clocks = find_clocks(team);
            for (std::string cell; std::getline(cells, cell, ',');) {
                draw = (draw * 1103515245 + 12345) % 2147483648;
                const bool is_pass = cell.find_first_of("FBIW") != std::string::npos &&
                                     cell.find_first_not_of("0123456789FBIW") == std::string::npos;
                if (is_pass) text += "CLOCK" + clocks.at(draw / 65536 % clocks.size()).at("mhz").dump() + ",";
                text += cell + ",";
            }
            text.back() = '\n';
        }
        write(file, text);
    }

    int runs_ = 0;
};

// Each team sets another clock before each of its passes.
TEST_F(PlansOnClusters, AgreeWithSimulatedClocks) {
    const std::string cluster = TRIREME_SOURCE_DIR "/perf/clusters/a100-8-v100-2x8.json";
    const json groups = json::parse(read(cluster)).at("groups");
    const auto find_clocks_of_rank = [&](std::size_t rank) {
        return groups.at(rank < 8 ? 0 : 1).at("device").at("clocks");
    };
    const std::string costs =
        "--cluster " + cluster + " --model gpt2 --layers 4 --vocabulary 257 --max-length 400 ";
    const std::string grid = "--pipe 4 --data 4 --microbatches 4 --batch 64";
    for (const std::string schedule : {"1f1b", "zb-h1"}) {
        write_clocked_schedule(schedule + ".csv", costs + grid + " --schedule " + schedule,
                               [&](std::size_t team) {
                                   return find_clocks_of_rank(team % 4 * 4 + team / 4);  // team: replica, stage
                               });
        for (const std::string charge : {"kernels", "passes"})
            expect_agreement(cluster, 16, grid + " --network free --schedule " + schedule + ".csv", 0.01,
                             charge);
    }
    for (const std::string energy : {"uniform", "envelope"})
        expect_agreement(cluster, 16, grid + " --network free --energy " + energy, 0.01);
    const std::string teams = "--pipe 2 --tensor 2 --microbatches 4 --batch 16";
    write_clocked_schedule("teams.csv", costs + teams,
                           [&](std::size_t team) { return find_clocks_of_rank(2 * team); });
    expect_agreement(cluster, 4, teams + " --schedule teams.csv", 0.05);
    // Fewer changes make this step 12 % shorter.
    expect_agreement(cluster, 4, teams + " --schedule teams.csv --clock-every 0.004", 0.05);
}

// 64 GPUs of one type and 64 of another. The clock of a team changes at each of its passes.
TEST_F(PlansOnClusters, AgreeWithSimulatedClocksOfManyRanks) {
    json cluster = json::parse(read(TRIREME_SOURCE_DIR "/perf/clusters/a100-8-v100-2x8.json"));
    for (json& group : cluster.at("groups")) group["nodes"] = 8;
    write("many.json", cluster.dump());
    const auto expect_equal_clocks = [&](const std::string& grid, double tolerance) {
        write_clocked_schedule(
            "many.csv", "--cluster many.json --model gpt2 --layers 8 --vocabulary 257 --max-length 400 " + grid,
            [&](std::size_t team) {
                const std::size_t stage = team % 8;  // ranks 0 to 63, of the first type, hold stages 0 to 3
                return cluster.at("groups").at(stage / 4).at("device").at("clocks");
            });
        for (const std::string clocks : {" --schedule many.csv", " --energy uniform", " --energy envelope"})
            expect_agreement("many.json", 128, grid + clocks, tolerance, "auto", 8);
    };
    expect_equal_clocks("--pipe 8 --data 8 --tensor 2 --microbatches 8 --batch 512 --network free", 0.01);
    expect_equal_clocks("--pipe 8 --data 16 --microbatches 16 --batch 2048", 0.05);
}

TEST_F(PlansOnClusters, AgreeWithSimulatedStepsWithoutNetwork) {
    const std::string cluster = TRIREME_SOURCE_DIR "/perf/clusters/v100-2x8.json";
    for (const std::string schedule : {"1f1b", "gpipe", "zb-h1"}) {
        for (const std::string length : {"pad", "balanced"}) {
            const std::string options = "--network free --schedule " + schedule + " --length " + length;
            expect_agreement(cluster, 4, options + " --pipe 4 --microbatches 4 --batch 16", 0.01);
            expect_agreement(cluster, 16, options + " --pipe 4 --data 4 --microbatches 4 --batch 64", 0.01);
        }
    }
    expect_agreement(cluster, 4,
                     "--network free --pipe 2 --tensor 2 --recompute full --microbatches 4 --batch 16", 0.01);
}

// The ranks of the first node have faster GPUs than the others.
TEST_F(PlansOnClusters, AgreeWithComparisonsOnMixedDevices) {
    const std::string options = "--cluster " TRIREME_SOURCE_DIR
                                "/perf/clusters/a100-8-v100-2x8.json --model gpt2 "
                                "--pipe 2 --data 12 --microbatches 2 --batch 24 ";

    const json compared = planned(options + "--compare 1f1b").at(0);

    EXPECT_EQ(compared.at("unit"), "s");
    EXPECT_EQ(compared.at("seconds"), planned(options + "--schedule 1f1b").at("prediction").at("seconds"));
}

// Head and embedding are priced tile by tile and table by table, for vocabularies of any size.
TEST_F(PlansOnClusters, AcceptLargeVocabularies) {
    const auto seconds = [&](const char* vocabulary) {
        return planned("--cluster " TRIREME_SOURCE_DIR
                       "/perf/clusters/v100-x8.json --model gpt2 --batch 1 --vocabulary " +
                       std::string(vocabulary))
            .at("prediction")
            .at("seconds")
            .get<double>();
    };
    EXPECT_GT(seconds("1300000"), 1.9 * seconds("600000"));
}

TEST_F(PlansOnClusters, AgreeWithSimulatedStepsOnDescribedNetworks) {
    const std::string node = TRIREME_SOURCE_DIR "/perf/clusters/v100-x8.json";
    const std::string pcie = TRIREME_SOURCE_DIR "/perf/clusters/rtx3090-x4.json";
    for (const std::string schedule : {"1f1b", "gpipe", "zb-h1"}) {
        const std::string options = "--length pad --schedule " + schedule;
        expect_agreement(node, 8, options + " --pipe 4 --data 2 --microbatches 4 --batch 64", 0.05);
        expect_agreement(pcie, 4, options + " --pipe 2 --data 2 --microbatches 4 --batch 32", 0.05);
    }
    expect_agreement(pcie, 4, "--data 4 --microbatches 2 --batch 32", 0.05);
    expect_agreement(pcie, 4, "--pipe 2 --tensor 2 --microbatches 4 --batch 32", 0.05);
}

}  // namespace
}  // namespace trireme::messages
