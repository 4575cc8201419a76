// Runs with --freeze: the number of frozen blocks over the steps, its records, how runs resume, and what is
// refused.
#include "messages/straggler_runs.hpp"

namespace trireme::messages {
namespace {

constexpr const char* of_blocks =
    "--model gpt2-tiny --layers 6 --width 16 --heads 4 --mlp-width 32 --positions 32 --batch 4 --dtype f64 "
    "--device reference --dropout 0.1 --threads 1 ";
constexpr const char* of_corpus = "--corpus corpus.h5 --validation-share 0.2 ";

class FreezeRules : public Stragglers {
protected:
    void simulate_blocks(const std::string& options, int ranks = 1, const char* samples = of_corpus) const {
        const Outcome outcome = run("simulate --ranks " + std::to_string(ranks) + " --cluster double.json " +
                                    of_blocks + samples + options);
        ASSERT_EQ(outcome.code, 0) << outcome.out << outcome.err;
    }

    // Returns the frozen blocks of each step.
    std::vector<int> depths(const std::string& folder) const {
        std::vector<int> all;
        for (const json& step : steps(folder))
            if (step.contains("layer_passes")) all.push_back(step.value("frozen", 0));
        return all;
    }
};

TEST_F(FreezeRules, DecideEquallyInAllLayouts) {
    const std::string rule = "--freeze gradient --freeze-alpha 0.5 --freeze-every 3 --steps 14 ";
    simulate_blocks(rule + "--run-dir one");
    const std::vector<json> expected = decisions("one");
    ASSERT_GE(expected.size(), 2U);

    int number = 0;
    for (const std::string layout :
         {"--data 4", "--pipe 4 --microbatches 4 --partition 2,2,3,1", "--tensor 2 --pipe 2 --microbatches 2",
          "--tensor 4 --sequence-parallel on"}) {
        const std::string folder = "layout-" + std::to_string(++number);
        simulate_blocks(rule + layout + " --run-dir " + folder, 4);

        EXPECT_LE(max_relative_difference(losses(folder), losses("one")), 1e-10) << layout;
        const std::vector<json> made = decisions(folder);
        ASSERT_EQ(made.size(), expected.size()) << layout;
        for (std::size_t d = 0; d < made.size(); ++d) {
            EXPECT_EQ(made[d]["step"], expected[d]["step"]) << layout;
            EXPECT_EQ(made[d]["frozen"], expected[d]["frozen"]) << layout;
            for (const auto& [name, value] : expected[d]["terms"].items()) {
                if (!name.starts_with("norm_")) continue;
                EXPECT_NEAR(made[d]["terms"][name].get<double>() / value.get<double>(), 1, 1e-10) << layout;
            }
        }
    }
}

// A period ends after the first step by which the 17 training samples have been visited once more.
TEST_F(FreezeRules, FollowTheScheduleInSimulationsWithoutValues) {
    const std::string rule = "--freeze schedule --freeze-alpha 0.5 --steps 12 --pipe 2 --microbatches 2 ";
    const std::string epoch = rule + "--long truncate ";
    simulate_blocks(epoch + "--run-dir values", 2);
    simulate_blocks(epoch + "--math off --run-dir ghosts", 2);
    simulate_blocks(rule + "--math off --freeze-every 5 --run-dir made-up", 2, "");

    const std::vector<json> made = decisions("values");
    ASSERT_EQ(made.size(), 2U);
    EXPECT_EQ(made[0]["step"], 5);
    EXPECT_EQ(made[1]["step"], 9);
    EXPECT_EQ(made[0]["policy"], "freeze-schedule");
    EXPECT_EQ(made[0]["terms"]["periods"], 1);
    EXPECT_EQ(depths("ghosts"), depths("values"));
    EXPECT_EQ(depths("made-up"), (std::vector{0, 0, 0, 0, 0, 3, 3, 3, 3, 3, 5, 5}));
    EXPECT_GT(decisions("ghosts")[0]["seconds"]["measured"], 0);
}

// The learning rate is so high that the validation loss rises. Blocks thaw after step 20, which also ends a
// period. A run that ends there makes its last checkpoint before it evaluates.
TEST_F(FreezeRules, ThawAndContinueFromCheckpoints) {
    const std::string rule =
        "--freeze schedule --freeze-alpha 0.4 --freeze-every 4 --freeze-thaw loss --eval-every 5 --lr 0.5 "
        "--lr-schedule constant --warmup-steps 0 ";
    const auto end = [](const std::vector<double>& all, std::ptrdiff_t begin) {
        return std::vector<double>(all.begin() + begin, all.end());
    };
    simulate_blocks(rule + "--data 2 --steps 24 --checkpoint-every 5 --run-dir whole", 2);
    const std::vector<json> made = decisions("whole");
    ASSERT_EQ(made.size(), 5U);
    EXPECT_EQ(made.back()["policy"], "freeze-thaw");
    EXPECT_EQ(made.back()["step"], 20);

    for (const int step : {15, 20}) {
        const std::string number = std::to_string(step);
        const std::string resumed = "--steps 24 --resume whole/checkpoints/step-" + number + " --run-dir ";
        simulate_blocks(rule + "--data 2 " + resumed + "same-" + number, 2);
        EXPECT_EQ(losses("same-" + number), end(losses("whole"), step)) << step;
        simulate_blocks(rule + "--data 1 " + resumed + "fewer-" + number, 1);
        EXPECT_LE(max_relative_difference(losses("fewer-" + number), end(losses("whole"), step)), 1e-10)
            << step;
    }
    simulate_blocks(rule + "--data 2 --steps 20 --run-dir stopped", 2);
    simulate_blocks(rule + "--data 2 --steps 24 --resume stopped/checkpoints/step-20 --run-dir longer", 2);
    EXPECT_EQ(losses("longer"), end(losses("whole"), 20));
    simulate_blocks(
        "--lr 0.5 --lr-schedule constant --warmup-steps 0 --eval-every 5 --data 2 --steps 24 "
        "--decisions whole/decisions.jsonl --run-dir replayed",
        2);
    EXPECT_EQ(losses("replayed"), losses("whole"));
}

// The schedule drains at the end of each period, also where a replay changes nothing.
TEST_F(FreezeRules, AreReplayedWithStepsThatOverlap) {
    const std::string training =
        "--freeze schedule --freeze-alpha 0.6 --freeze-every 2 --schedule pipedream-2bw --pipe 2 "
        "--microbatches 4 --steps 12 ";
    simulate_blocks(training + "--run-dir first", 2);
    ASSERT_EQ(decisions("first").size(), 2U);
    simulate_blocks(training + "--decisions first/decisions.jsonl --run-dir replayed", 2);

    EXPECT_EQ(losses("replayed"), losses("first"));
}

// After one step, both the rank's work and the frozen blocks change.
TEST_F(FreezeRules, ChangeTogetherWithTheLayoutForASlowRank) {
    simulate_blocks(
        "--pipe 3 --microbatches 4 --partition 3,3,2 --steps 16 --freeze schedule --freeze-every 5 --straggler "
        "uneven --look-every 5 --slow rank=1,factor=10,steps=3:16,on=products --run-dir slow --tied off "
        "--math off",
        3, "--corpus corpus.h5 --length fixed ");

    const std::vector<json> made = decisions("slow");
    const auto both = std::ranges::find_if(made, [](const json& each) { return each.contains("causes"); });
    ASSERT_NE(both, made.end());
    EXPECT_EQ((*both)["causes"].back()["proposer"], "freeze-schedule") << *both;
    EXPECT_EQ((*both)["policy"], "uneven");
}

TEST_F(FreezeRules, StartAnewFromTheDepthOfACheckpointIfTheyDiffer) {
    simulate_blocks("--freeze schedule --freeze-alpha 0.4 --freeze-every 2 --steps 5 --run-dir first");
    ASSERT_EQ(depths("first").back(), 4);
    simulate_blocks(
        "--freeze schedule --freeze-alpha 0.6 --freeze-every 2 --steps 12 --resume first --run-dir other");

    EXPECT_EQ(depths("other"), (std::vector{4, 4, 4, 6, 6, 6, 6}));
}

TEST_F(FreezeRules, ArePlannedWithARowPerPeriod) {
    const std::string options = "--model gpt2 --pipe 4 --microbatches 8 --freeze gradient --freeze-alpha 0.25 ";
    const json periods = planned(options).at("freeze");
    const Outcome text = run("plan " + options);

    std::vector<int> frozen;
    for (const json& period : periods) frozen.push_back(period.at("frozen"));
    EXPECT_EQ(frozen, (std::vector{0, 3, 6, 7, 9, 10, 10, 11, 11, 12}));
    const json deeper = planned("--model gpt2 --pipe 4 --microbatches 8 --frozen 9");
    EXPECT_EQ(periods[4]["seconds"], deeper["prediction"]["seconds"]);
    EXPECT_TRUE(has(text.out, "\n      4     9/12 ")) << text.out;
    EXPECT_EQ(planned(options + "--freeze-every 10 --steps 31").at("freeze").size(), 4U);
}

TEST_F(FreezeRules, AreRefusedWhereTheyCannotWork) {
    const std::string training = std::string(of_blocks) + "--steps 3 --corpus corpus.h5 ";
    const std::string made_up = "simulate --ranks 1 --cluster double.json --steps 3 " + std::string(of_blocks);
    const std::string simulated = made_up + of_corpus;

    expect_refusal("plan --freeze schedule --freeze-alpha 1 --layers 2",
                   {"--freeze-alpha expects a number above 0 and below 1, not '1'"});
    expect_refusal("train --freeze-alpha 0.5 " + training,
                   {"--freeze-alpha has no effect without a rule that freezes blocks"});
    expect_refusal("plan --freeze gradient --freeze-thaw loss --layers 2",
                   {"--freeze-thaw loss needs evaluations during the run; set --eval-every K"});
    expect_refusal(simulated + "--freeze gradient --freeze-thaw loss",
                   {"--freeze-thaw loss needs evaluations during the run; set --eval-every K"});
    expect_refusal(
        "train --freeze schedule --freeze-thaw loss --eval-every 1 " + training + "--validation-share 0",
        {"--eval-every 1 has nothing to evaluate"});
    expect_refusal(simulated + "--freeze gradient --math off",
                   {"--freeze gradient does not work with --math off"});
    expect_refusal(simulated + "--freeze schedule --freeze-thaw loss --math off",
                   {"--freeze-thaw loss does not work with --math off"});
    expect_refusal(made_up + "--freeze schedule --math off",
                   {"without --corpus, an epoch has no length; set --freeze-every K"});
}

}  // namespace
}  // namespace trireme::messages
