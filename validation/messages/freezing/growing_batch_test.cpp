// Runs with --batch-policy grow: more pipelines have more samples per step, and nothing else changes.
#include "messages/straggler_runs.hpp"

namespace trireme::messages {
namespace {

constexpr const char* of_training =
    "--corpus corpus.h5 --validation-share 0.2 --long truncate --model gpt2-tiny --layers 6 --width 16 --heads "
    "4 "
    "--mlp-width 32 --positions 32 --batch 4 --dtype f64 --device reference --dropout 0.1 --threads 1 "
    "--warmup-steps 3 --lr-schedule linear ";
constexpr const char* of_rule =
    "--freeze schedule --freeze-alpha 0.6 --auto-pipe published --batch-policy grow ";

class GrowingBatch : public Stragglers {
protected:
    void SetUp() override {
        Stragglers::SetUp();
        if (IsSkipped()) return;
        json cluster = slow_abacus();
        cluster["devices_per_node"] = 4;
        write("double.json", cluster.dump());
    }

    void simulate(const std::string& options, int ranks) const {
        const Outcome outcome = run("simulate --ranks " + std::to_string(ranks) +
                                    " --cluster double.json --epochs 6 " + of_training + options);
        ASSERT_EQ(outcome.code, 0) << outcome.out << outcome.err;
    }

    std::vector<double> rates(const std::string& folder) const {
        std::vector<double> all;
        for (const json& step : training_steps(folder)) all.push_back(step.at("lr"));
        return all;
    }
};

// One rank replays the decisions with its own layout, so that it is given the same batches.
TEST_F(GrowingBatch, MatchesASingleRankWithTheSameBatches) {
    simulate(std::string(of_rule) + "--pipe 4 --checkpoint-every 2 --run-dir grown", 4);

    std::string replayed;
    std::set<int> batches;
    for (json decision : decisions("grown")) {
        batches.insert(decision.at("batch").get<int>());
        decision["layout"] = {{"layers", 15},
                              {"stages", {{{"layers", {0, 15}}, {"replicas", {{{"ranks", {0}}}}}}}}};
        decision.erase("from");
        decision.erase("to");
        replayed += decision.dump() + '\n';
    }
    ASSERT_GE(batches.size(), 2U);
    write("one.jsonl", replayed);
    simulate("--decisions one.jsonl --run-dir one", 1);
    EXPECT_LE(max_relative_difference(losses("grown"), losses("one")), 1e-10);
    EXPECT_EQ(rates("grown"), rates("one"));

    const int middle = static_cast<int>(losses("grown").size()) / 2 / 2 * 2;
    simulate(std::string(of_rule) + "--pipe 4 --resume grown/checkpoints/step-" + std::to_string(middle) +
                 " --run-dir rest",
             4);
    expect_refusal(
        "simulate --ranks 4 --cluster double.json --pipe 4 --epochs 6 " + std::string(of_training) +
            "--freeze schedule --freeze-alpha 0.6 --auto-pipe published --batch-policy fixed --resume "
            "grown/checkpoints/step-" +
            std::to_string(middle) + " --run-dir fixed",
        {"--batch-policy"});
    const std::vector<double> all = losses("grown");
    EXPECT_EQ(losses("rest"), std::vector<double>(all.begin() + middle, all.end()));
}

TEST_F(GrowingBatch, CountsEpochs) {
    const std::string simulated = "simulate --ranks 4 --cluster double.json --pipe 4 ";
    expect_refusal(simulated + of_training + of_rule + "--steps 9", {"set --epochs E in place of --steps"});
    expect_refusal(simulated + of_training +
                       "--epochs 6 --auto-pipe on --batch-policy grow --elastic both --memory-limit 3000000",
                   {"--batch-policy grow", "--elastic length"});

    // Without a corpus, the steps of a period take the place of an epoch.
    const std::string of_images = simulated +
                                  "--math off --model vit-tiny --labels 10 --batch 24 --microbatches 4 "
                                  "--dtype f32 --steps 24 --run-dir images " +
                                  of_rule;
    expect_refusal(of_images, {"--freeze-every K"});
    const Outcome outcome = run(of_images + "--freeze-every 8");
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(decisions("images").back().at("batch"), 4 * 24);
    EXPECT_LT(steps("images").size(), 24U);
}

// Each pipeline has the released number of micro-batches for its stages.
TEST_F(GrowingBatch, KeepsTheMicrobatchesOfEachPipeline) {
    simulate(std::string(of_rule) + "--pipe 4 --math off --run-dir counted", 4);

    for (const json& decision : decisions("counted")) {
        const int pipelines = static_cast<int>(decision.at("layout").at("stages")[0].at("replicas").size());
        EXPECT_EQ(decision.at("batch"), 4 * pipelines);
        EXPECT_EQ(decision.at("microbatches"), 4 * pipelines) << decision;  // one for each sample
    }
}

// Steps of more pipelines take longer, because they have more samples.
TEST_F(GrowingBatch, IsPlannedForTheShortestTimePerSample) {
    const auto plan = [&](const std::string& rule) {
        const Outcome outcome = run(
            "plan --ranks 4 --cluster double.json --model vit-base --labels 10 --batch 24 --pipe 4 --epochs 6 "
            "--freeze schedule --freeze-alpha 0.6 --batch-policy grow --format json --auto-pipe " +
            rule);
        return outcome.code == 0 ? json::parse(outcome.out).at("trajectory") : json::array();
    };
    const json published = plan("published");
    const json planned = plan("on");
    ASSERT_EQ(planned.size(), published.size());
    ASSERT_GE(planned.size(), 3U);
    const auto seconds_per_sample = [](const json& row) {
        return row.at("seconds").get<double>() / row.at("batch").get<double>();
    };
    for (std::size_t row = 0; row < planned.size(); ++row) {
        EXPECT_EQ(published[row].at("batch"), 24 * published[row].at("data").get<int>());
        EXPECT_LE(seconds_per_sample(planned[row]), seconds_per_sample(published[row])) << row;
    }
}

}  // namespace
}  // namespace trireme::messages
