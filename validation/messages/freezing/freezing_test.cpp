// Runs with frozen blocks: what they print, count and refuse, and how they resume.
#include "messages/straggler_runs.hpp"

namespace trireme::messages {
namespace {

constexpr double trained_blocks = 25408;  // parameters of the two blocks of `of_model`
constexpr double ends = 64 + 257 * 32;    // of the final norm and the head
constexpr double embedding = (257 + 32) * 32;

class Freezing : public Stragglers {
protected:
    // Runs `of_model` in a pipeline of two stages, which two replicas execute with two micro-batches each.
    void simulate_grid(const std::string& options, const std::string& grid = "--data 2 ") const {
        const Outcome outcome =
            run("simulate --ranks 4 --cluster double.json --pipe 2 --microbatches 2 --length fixed --steps 6 "
                "--tied off " +
                grid + of_model + options);
        ASSERT_EQ(outcome.code, 0) << outcome.out << outcome.err;
    }

    json second_step(const std::string& folder) const { return training_steps(folder).at(1); }
};

// The seven layers are the embedding, the four halves of blocks, the final norm and the head.
TEST_F(Freezing, SavesBackwardPassesGradientsAndMoments) {
    simulate_grid("--run-dir trained");
    simulate_grid("--frozen 1 --run-dir frozen");
    simulate_grid("--frozen 2 --shard-optimizer off --run-dir replicated");

    const json trained = second_step("trained");
    EXPECT_FALSE(trained.contains("frozen"));
    EXPECT_EQ(trained["layer_passes"], (json{{"forward", 4 * 7}, {"backward", 4 * 7}}));
    EXPECT_EQ(trained["reduced_bytes"], (trained_blocks + ends + embedding) * sizeof(double));
    EXPECT_EQ(trained["moment_bytes"], (trained_blocks + ends + embedding) * 2 * sizeof(double));

    const json frozen = second_step("frozen");
    EXPECT_EQ(frozen["frozen"], 1);
    EXPECT_EQ(frozen["layer_passes"], (json{{"forward", 4 * 7}, {"backward", 4 * 4}}));
    EXPECT_EQ(frozen["reduced_bytes"], (trained_blocks / 2 + ends) * sizeof(double));
    EXPECT_EQ(frozen["moment_bytes"], (trained_blocks / 2 + ends) * 2 * sizeof(double));

    const json replicated = second_step("replicated");
    EXPECT_EQ(replicated["layer_passes"], (json{{"forward", 4 * 7}, {"backward", 4 * 2}}));
    EXPECT_EQ(replicated["moment_bytes"], 2 * ends * 2 * sizeof(double));
}

TEST_F(Freezing, SavesTheSameInSimulationsWithoutValues) {
    simulate_grid("--frozen 1 --run-dir values");
    simulate_grid("--frozen 1 --math off --run-dir ghosts");

    const json values = second_step("values");
    const json ghosts = steps("ghosts").at(1);
    for (const char* const field : {"layer_passes", "reduced_bytes", "moment_bytes"})
        EXPECT_EQ(ghosts.at(field), values.at(field)) << field;
}

TEST_F(Freezing, IsShownByEachStep) {
    const Outcome outcome = train("--frozen 1 --log-every 1", 2);

    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_TRUE(has(outcome.out,
                    "\nfrozen    the embedding and 1 of 1 blocks (freezing changes what the model learns)\n"))
        << outcome.out;
    EXPECT_TRUE(has(outcome.out, "  frozen 1/1  ")) << outcome.out;
}

TEST_F(Freezing, IsPlanned) {
    const std::string options = "plan --model gpt2 --tied off --pipe 4 --microbatches 8 ";

    const Outcome trained = run(options);
    const Outcome frozen = run(options + "--frozen 6");
    const json described = planned(options.substr(5) + "--frozen 6");

    EXPECT_FALSE(has(trained.out, "\nfrozen ")) << trained.out;
    EXPECT_TRUE(has(frozen.out, "\nfrozen      the embedding and 6 blocks\n")) << frozen.out;
    EXPECT_FALSE(has(frozen.out, "closed form")) << frozen.out;
    EXPECT_EQ(described.at("frozen"), 6);
}

TEST_F(Freezing, IsLimitedToTheBlocksOfTheModel) {
    const std::string sentence = "3 frozen blocks are more than the model has; freeze at most 2";
    const std::string training = "--steps 3 " + std::string(of_model);
    write("decisions.jsonl",
          R"({"step": 1, "frozen": 3, "layout": {"layers": 7, "stages": [{"layers": [0, 7], )"
          R"("replicas": [{"ranks": [0]}]}]}})");

    expect_refusal("plan --frozen 3 --layers 2", {sentence});
    expect_refusal("simulate --ranks 4 --cluster double.json --frozen 3 " + training, {sentence});
    expect_refusal("train --frozen 3 " + training, {sentence});
    expect_refusal("train --decisions decisions.jsonl " + training,
                   {"--decisions decisions.jsonl, step 1: " + sentence});
}

// A rank that only runs forward is compared by its forward passes.
TEST_F(Freezing, MovesWorkFromASlowRankWithFrozenBlocks) {
    const Outcome outcome = run(
        "simulate --ranks 3 --cluster double.json --corpus corpus.h5 --model gpt2-tiny --layers 6 --width 32 "
        "--heads 4 --tied off --pipe 3 --microbatches 8 --batch 8 --length fixed --max-length 32 --threads 1 "
        "--partition 3,3,2 --frozen 2 --steps 12 --straggler uneven --look-every 5 "
        "--slow rank=0,factor=10,steps=3:12,on=products --run-dir run");

    ASSERT_EQ(outcome.code, 0) << outcome.out << outcome.err;
    ASSERT_EQ(decisions("run").size(), 1U);
    const json decision = decisions("run")[0];
    EXPECT_EQ(decision["frozen"], 2);
    EXPECT_LT(decision["layout"]["stages"][0]["layers"][1], 5) << decision;
}

// The checkpoint keeps the depth, although the plan of the options has another layout and trains everything.
TEST_F(Freezing, ContinuesOnFewerRanks) {
    simulate_grid("--frozen 1 --checkpoint-every 3 --run-dir whole");
    const auto resume = [&](const std::string& options) {
        const Outcome outcome =
            run("simulate --ranks 2 --cluster double.json --tensor 2 --length fixed --steps 6 --tied off "
                "--microbatches 2 --resume whole/checkpoints/step-3 " +
                options + of_model);
        ASSERT_EQ(outcome.code, 0) << outcome.out << outcome.err;
    };
    resume("--run-dir fewer ");
    resume("--frozen 2 --run-dir deeper ");

    const std::vector<double> whole = losses("whole");
    EXPECT_LE(max_relative_difference(losses("fewer"), {whole.begin() + 3, whole.end()}), 1e-10);
    for (const json& step : training_steps("fewer")) EXPECT_EQ(step["frozen"], 1);
    for (const json& step : training_steps("deeper")) EXPECT_EQ(step["frozen"], 2);
}

}  // namespace
}  // namespace trireme::messages
