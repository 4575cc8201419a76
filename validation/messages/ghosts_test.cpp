// Ghost runs, which have shapes and costs but no values, take the same simulated time as runs with values.
#include <filesystem>
#include <map>

#include "messages/simulated_runs.hpp"

namespace trireme::messages {
namespace {

using GhostRuns = Simulate;

double second_step_seconds(const std::vector<json>& steps) { return steps.at(1).at("seconds"); }

// With these options a run with values does the same work as ghosts, whose samples all have the maximum length
// and a target in every row. Ghosts have no gradient norm, so no update may be clipped and rolled back.
constexpr const char* comparable_options = "--dropout 0 --tied off --clip 0 ";

TEST_F(GhostRuns, TakeTheSameTimeAsRunsWithValues) {
    for (const std::string layout :
         {"--pipe 4 ", "--pipe 2 --data 2 ", "--pipe 2 --tensor 2 ", "--tensor 4 --sequence-parallel on ",
          "--pipe 4 --schedule zb-h1 ", "--pipe 2 --data 2 --schedule interleaved --chunks 2 ",
          "--pipe 2 --data 2 --recompute full ", "--pipe 4 --schedule pipedream-2bw "}) {
        const double computed = second_step_seconds(simulated("abacus.json", comparable_options + layout));
        const double by_kernels = second_step_seconds(
            simulated("abacus.json", comparable_options + layout + "--math off --charge kernels "));
        const double by_passes = second_step_seconds(
            simulated("abacus.json", comparable_options + layout + "--math off --charge passes "));

        EXPECT_NEAR(by_kernels, computed, 0.02 * computed) << layout;
        EXPECT_NEAR(by_passes, by_kernels, 0.02 * by_kernels) << layout;
    }
}

// One row in four is long and the others are short, so the policies pad differently. Attention is charged for
// the tokens of a sample, logits are charged for rows with a target, and other kernels for all rows.
TEST_F(GhostRuns, ChargePaddingLikeRunsWithValues) {
    std::string rows;
    for (std::size_t row = 0; row < 32; ++row) rows += std::string(row % 4 == 0 ? 240 : 10 + row, 'a') + '\n';
    write("rows.txt", rows);
    const Outcome prepared = run("prepare rows.txt --rows line --quiet --output rows.h5");
    ASSERT_EQ(prepared.code, 0) << prepared.err;
    const auto simulate = [&](const std::string& options) {
        const std::string folder = "padded-" + std::to_string(content().size());
        const Outcome outcome = run("simulate --ranks 4 --cluster abacus.json --run-dir " + folder +
                                    " --corpus rows.h5 --model gpt2-tiny --max-length 256 --steps 2 --batch 16 "
                                    "--microbatches 2 --threads 1 --quiet " +
                                    comparable_options + options);
        EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
        return second_step_seconds(steps(folder));
    };
    for (const std::string layout : {"--pipe 1 --data 4 ", "--pipe 2 --data 2 "})
        for (const std::string length : {"--length fixed ", "--length pad ", "--length pack "}) {
            const double computed = simulate(layout + length);

            EXPECT_NEAR(simulate(layout + length + "--math off"), computed, 0.02 * computed)
                << layout << length;
        }
}

TEST_F(GhostRuns, HaveNoLosses) {
    const std::vector<json> steps = simulated("abacus.json", "--pipe 2 --data 2 --math off");

    ASSERT_EQ(steps.size(), 2U);
    for (const char* field : {"loss", "grad_norm", "peak_bytes"})
        EXPECT_FALSE(steps[1].contains(field)) << field;
    EXPECT_EQ(steps[1].at("clock"), "simulated");
    EXPECT_EQ(steps[1].at("compute_s").size(), 4U);
    const json summary = json::parse(read(last_folder_ + "/summary.json"));
    EXPECT_EQ(summary.at("verdict"), "VALID");
    EXPECT_FALSE(summary.contains("loss"));
    EXPECT_FALSE(summary.at("memory_bytes").contains("growth"));
}

TEST_F(GhostRuns, NeedNoCorpusAndAreFasterInBf16) {
    json device = abacus();
    device["device"]["flops"]["bf16"] = 4e9;
    write("quick.json", device.dump());
    const std::string line =
        "simulate --math off --ranks 4 --pipe 4 --model gpt2-tiny --vocabulary 257 --steps 1 "
        "--batch 4 --microbatches 4 --cluster quick.json ";

    const Outcome outcome = run(line + "--dtype bf16 --run-dir short");
    const Outcome longer = run(line + "--run-dir long");

    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(longer.code, 0) << longer.err;
    EXPECT_NE(outcome.out.find("samples   synthetic, of 256 tokens"), std::string::npos) << outcome.out;
    const double short_seconds = steps("short").at(0).at("seconds");
    EXPECT_LT(short_seconds, 0.6 * steps("long").at(0).at("seconds").get<double>());
}

// Rank 2 is slow in the second step only, and costs that were cached in the first step do not hide it.
TEST_F(GhostRuns, SlowDownTheChosenRankInTheChosenStep) {
    for (const std::string charge : {"kernels", "passes"}) {
        const auto made =
            simulated("abacus.json", "--pipe 4 --math off --slow rank=2,factor=3,steps=2 --charge " + charge);
        const std::vector<double> first = made.at(0).at("compute_s");
        const std::vector<double> second = made.at(1).at("compute_s");

        EXPECT_NEAR(second[2], 3 * first[2], 0.01 * second[2]) << charge;
        EXPECT_NEAR(second[1], first[1], 0.01 * first[1]) << charge;
    }
}

// 73 ranks, one of them idle, are more than max_ranks_charging_kernels.
TEST_F(GhostRuns, AreReproducibleOnManyRanksWithAnIdleOne) {
    json many_nodes = abacus();
    many_nodes["nodes"] = 40;
    write("crowd.json", many_nodes.dump());
    json stages = json::array();
    const std::vector<std::pair<int, int>> layers = {{0, 4}, {4, 8}, {8, 11}};
    for (int stage = 0; stage < 3; ++stage) {
        json replicas = json::array();
        for (int replica = 0; replica < 12; ++replica) {
            const int first = 24 * stage + 2 * replica;
            replicas.push_back({{"ranks", {first, first + 1}}});
        }
        stages.push_back({{"layers", {layers[stage].first, layers[stage].second}}, {"replicas", replicas}});
    }
    write("layout.json", json{{"layers", 11}, {"stages", stages}, {"idle", {72}}}.dump());
    const std::string line =
        "simulate --math off --cluster crowd.json --ranks 73 --layout layout.json --model gpt2-tiny "
        "--vocabulary "
        "257 --microbatches 48 --batch 48 --max-length 32 --steps 2 ";

    const Outcome first = run(line + "--run-dir first");
    const Outcome again = run(line + "--run-dir again");

    ASSERT_EQ(first.code, 0) << first.err;
    ASSERT_EQ(again.code, 0) << again.err;
    EXPECT_EQ(steps("first").at(1), steps("again").at(1));
    EXPECT_EQ(steps("first").at(1).at("compute_s").at(72), 0);
    EXPECT_GT(steps("first").at(1).at("compute_s").at(71), 0);
}

TEST_F(GhostRuns, SupportDryRuns) {
    const Outcome outcome =
        run("simulate --math off --cluster abacus.json --ranks 4 --pipe 4 --vocabulary 257 --steps 2 "
            "--microbatches 4 "
            "--dry-run --run-dir none");

    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_NE(outcome.out.find("samples   synthetic"), std::string::npos) << outcome.out;
    EXPECT_FALSE(std::filesystem::exists(path("none")));
}

TEST_F(GhostRuns, RejectOptionsThatNeedValues) {
    const std::map<std::string, std::string> refusals = {
        {"--eval-every 1", "--eval-every does not work with --math off"},
        {"--checkpoint-every 1", "--checkpoint-every does not work with --math off"},
        {"--resume auto", "--resume auto does not work with --math off"}};
    for (const auto& [option, sentence] : refusals) {
        const Outcome outcome =
            run("simulate --ranks 4 --pipe 4 --math off --cluster abacus.json --run-dir none " +
                (of_train + option));

        EXPECT_EQ(outcome.code, 2) << option;
        EXPECT_NE(outcome.err.find(sentence), std::string::npos) << outcome.err;
        EXPECT_FALSE(std::filesystem::exists(path("none"))) << option;
    }
}

TEST_F(GhostRuns, AreTracedAndReportedLikeOtherRuns) {
    simulated("abacus.json", "--pipe 4 --math off --trace 2");

    const json trace = json::parse(read(last_folder_ + "/trace.json"));
    EXPECT_EQ(trace.at("otherData").at("clock"), "simulated");
    std::size_t forwards = 0;
    for (const json& event : trace.at("traceEvents")) {
        const std::string name = event.at("name");
        if (event.at("ph") == "X" && name.size() == 3 && name[1] == 'F') ++forwards;
    }
    EXPECT_EQ(forwards, 16U);
    EXPECT_EQ(run("report " + last_folder_).code, 0);
}

TEST_F(GhostRuns, AreRejectedOutsideSimulations) {
    const Outcome ghosts = run(std::string("train --device ghost ") + of_train, 2);
    const Outcome charge = run(std::string("train --charge passes ") + of_train, 2);
    const Outcome numbers = run(std::string("train --dtype bf16 ") + of_train, 2);

    EXPECT_EQ(ghosts.code, 2);
    EXPECT_NE(ghosts.err.find("--device ghost computes no values and works only in"), std::string::npos)
        << ghosts.err;
    EXPECT_EQ(charge.code, 2);
    EXPECT_NE(charge.err.find("--charge has no effect without a simulated run"), std::string::npos)
        << charge.err;
    EXPECT_EQ(numbers.code, 2);
    EXPECT_NE(numbers.err.find("--dtype bf16 needs GPUs"), std::string::npos) << numbers.err;
}

}  // namespace
}  // namespace trireme::messages
