// Layouts that follow the lengths of samples give the losses of a single rank.
#include <map>
#include <random>
#include <set>

#include "equivalence/equal_losses.hpp"

namespace trireme::messages {
namespace {

class ElasticLayout : public EqualLosses {
protected:
    static constexpr std::size_t all_steps = 60;

    // In each run of 20 steps, the last 8 have long samples.
    void SetUp() override {
        std::mt19937_64 random(7);
        std::string rows;
        for (std::size_t row = 0; row < 8 * all_steps; ++row) {
            const bool is_long = row / 8 % 20 >= 12;
            const std::size_t length = is_long ? 100 + random() % 20 : 8 + random() % 12;
            std::string text;
            for (std::size_t i = 0; i < length; ++i) text += static_cast<char>('a' + random() % 8);
            rows += nlohmann::json{{"text", text}}.dump() + "\n";
        }
        write("rows.jsonl", rows);
        ASSERT_EQ(run("prepare rows.jsonl --tokenizer bytes --quiet --output corpus.h5").code, 0);
        const nlohmann::json device{{"name", "device"},
                                    {"flops", {{"f64", 1e9}, {"f32", 1e9}}},
                                    {"bandwidth", 1e9},
                                    {"memory", 1000000000},
                                    {"launch", 1e-5}};
        write("cluster.json", nlohmann::json{{"schema", 1},
                                             {"name", "one-node"},
                                             {"source", "made up"},
                                             {"device", device},
                                             {"devices_per_node", 8},
                                             {"nodes", 1},
                                             {"inside", {{"latency", 1e-5}, {"bandwidth", 1e9}}}}
                                  .dump());
    }

    std::vector<nlohmann::json> train(const std::string& command, const std::string& options,
                                      const std::string& folder, int ranks = 0, std::size_t mpi = 0) {
        const Outcome outcome =
            run(command +
                    " --corpus corpus.h5 --order corpus --validation-share 0 --batch 8 --layers 4 --width 16 "
                    "--heads 2 --positions 128 --dropout 0.1 --lr 5e-3 --warmup-steps 3 --quiet --steps " +
                    std::to_string(all_steps) + ' ' + options + " --run-dir " + folder,
                ranks, mpi);
        EXPECT_EQ(outcome.code, 0) << options << '\n' << outcome.err;
        return read_steps(folder);
    }

    // Returns the numbers of stages of the layouts to which the run changed, in their order.
    std::vector<std::size_t> list_stages(const std::string& folder) {
        std::vector<std::size_t> stages;
        std::istringstream lines(read(folder + "/decisions.jsonl"));
        for (std::string line; std::getline(lines, line);) {
            const nlohmann::json decision = nlohmann::json::parse(line);
            if (decision.contains("layout")) stages.push_back(decision.at("layout").at("stages").size());
        }
        return stages;
    }

    // Each way with another MPI library than the last one, if there are several.
    void expect_equal_losses_after_growth(const std::string& precision, const std::vector<Way>& ways,
                                          double bar) {
        const std::string type = precision.substr(std::string("--dtype ").size(), 3);
        const std::vector<nlohmann::json> one = train("train", precision, type);
        ASSERT_EQ(one.size(), all_steps);
        for (std::size_t i = 0; i < ways.size(); ++i) {
            SCOPED_TRACE(ways[i].options);
            const std::vector<std::size_t> programs = programs_for(ways[i].ranks);
            const std::string folder = type + '-' + std::to_string(i);
            expect_near(train("train", precision + " --elastic length " + ways[i].options, folder,
                              ways[i].ranks, programs[i % programs.size()]),
                        one, bar);
            const std::vector<std::size_t> stages = list_stages(folder);
            ASSERT_FALSE(stages.empty());
            EXPECT_GT(stages.front(), 1);
        }
    }
};

// The layout of the options cannot execute a step of long samples. Whether the run returns to it between these
// steps depends on the measured times.
TEST_F(ElasticLayout, GivesTheLossesOfOneRankIfLongStepsNeedMoreStages) {
    const std::string layout = "--elastic-means layout --memory-limit 1700000 --data 2 --microbatches 4 ";
    expect_equal_losses_after_growth(
        "--dtype f64 --device reference",
        {{layout, 2},
         {layout + "--move twins", 2},
         {layout + "--move restart", 2},
         {"--elastic-means layout,recompute --memory-limit 1700000 --data 4 --microbatches 1", 4}},
        1e-10);
}

// The first period ends before the first long step, so that blocks freeze and stages split in one change. A
// simulation without values makes the same changes.
TEST_F(ElasticLayout, GivesTheLossesOfOneRankWhileBlocksFreeze) {
    const std::string rule = "--dtype f64 --freeze schedule --freeze-alpha 0.25 --freeze-every 12 ";
    const std::string layout =
        "--elastic length --elastic-means layout --memory-limit 1700000 --data 2 --microbatches 4 ";
    const auto list_changes = [&](const std::string& folder) {
        std::vector<std::string> changes;
        std::istringstream lines(read(folder + "/decisions.jsonl"));
        for (std::string line; std::getline(lines, line);) {
            const nlohmann::json decision = nlohmann::json::parse(line);
            if (!decision.contains("layout")) continue;
            changes.push_back(decision.at("step").dump() + ' ' + decision.at("frozen").dump() + ' ' +
                              decision.at("to").dump());
        }
        return changes;
    };

    expect_near(train("train", rule + layout + "--device reference", "two", 2),
                train("train", rule + "--device reference", "one"), 1e-10);
    train("simulate --math off --ranks 2 --cluster cluster.json", rule + layout, "ghosts");

    const std::vector<std::string> changes = list_changes("ghosts");
    ASSERT_FALSE(changes.empty());
    EXPECT_TRUE(changes.front().starts_with("12 1 ")) << changes.front();
    EXPECT_EQ(list_changes("two").front(), changes.front());
}

// All ranks become replicas for the first steps, which are short. Long steps do not fit into a single stage.
TEST_F(ElasticLayout, GivesTheLossesOfOneRankIfEightRanksShrinkAndGrow) {
    const std::string f64 = "--dtype f64 --device reference ";
    const std::vector<nlohmann::json> one = train("train", f64, "one");

    expect_near(train("train",
                      f64 + "--elastic length --elastic-means layout --memory-limit 1700000 --pipe 4 --data 2 "
                            "--microbatches 4",
                      "eight", 8),
                one, 1e-10);

    const std::vector<std::size_t> stages = list_stages("eight");
    ASSERT_GE(stages.size(), 2);
    EXPECT_LT(stages.front(), 4);
    EXPECT_GT(*std::ranges::max_element(stages), stages.front());
}

// The resumed run begins with the layout of the checkpoint on its own ranks, and follows the lengths again.
TEST_F(ElasticLayout, GivesTheLossesOfOneRankIfOtherRanksResume) {
    const std::string f64 = "--dtype f64 --device reference ";
    const std::string elastic = "--elastic length --elastic-means layout,recompute --memory-limit 1700000 ";
    const std::vector<nlohmann::json> one = train("train", f64, "one");
    const std::vector<nlohmann::json> begun =
        train("train", f64 + elastic + "--data 2 --microbatches 4 --checkpoint-every 14 --keep 0", "begun", 2);
    expect_near(begun, one, 1e-10);

    const Outcome outcome = run("train --resume begun/checkpoints/step-14 --pipe 1 --data 4 --microbatches 1 " +
                                    elastic + "--quiet --run-dir resumed",
                                4, programs_for(4).back());

    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const std::vector<nlohmann::json> resumed = read_steps("resumed");
    ASSERT_EQ(resumed.size(), all_steps - 14);
    expect_near(resumed, {one.begin() + 14, one.end()}, 1e-10);
    EXPECT_FALSE(list_stages("resumed").empty());
}

// In a simulation, decisions depend on the simulated times alone.
TEST_F(ElasticLayout, GivesTheLossesOfOneRankIfStagesMergeForShortSteps) {
    const std::string f64 = "--dtype f64 --device reference ";
    const std::string simulate = "simulate --cluster cluster.json --ranks 4";
    const std::string elastic =
        f64 + "--pipe 4 --microbatches 4 --recompute none --elastic length --memory-limit 1700000 ";
    const std::vector<nlohmann::json> one = train("train", f64, "one");

    const std::vector<nlohmann::json> changing =
        train(simulate, elastic + "--elastic-means layout,recompute", "changing");

    expect_near(changing, one, 1e-10);
    const std::vector<std::size_t> stages = list_stages("changing");
    ASSERT_GE(stages.size(), 2);
    EXPECT_LT(stages.front(), 4);
    EXPECT_GT(*std::ranges::max_element(stages), stages.front());

    const std::vector<nlohmann::json> replayed =
        train(simulate, elastic + "--elastic-means recompute --decisions changing/decisions.jsonl", "replayed");

    ASSERT_EQ(replayed.size(), changing.size());
    for (std::size_t s = 0; s < changing.size(); ++s)
        for (const char* const field : {"loss", "grad_norm"})
            EXPECT_EQ(replayed[s].at(field), changing[s].at(field)) << "step " << s;
}

TEST_F(ElasticLayout, GivesTheLossesOfOneRankWithThePublishedRule) {
    const std::string f64 = "--dtype f64 --device reference ";
    const std::vector<nlohmann::json> one = train("train", f64, "one");

    const std::vector<nlohmann::json> published = train(
        "simulate --cluster cluster.json --ranks 4",
        f64 + "--pipe 4 --microbatches 4 --elastic length --elastic-rule published --memory-limit 1700000",
        "published");

    expect_near(published, one, 1e-10);
    std::map<std::string, std::size_t> outcomes;
    for (const nlohmann::json& step : published) {
        const nlohmann::json& elastic = step.at("elastic");
        outcomes[elastic.at("outcome")] += 1;
        EXPECT_EQ(elastic.at("A"), elastic.at("peak_bytes") <= elastic.at("pooled_bytes"));
        EXPECT_EQ(elastic.at("B"), elastic.at("new_s") >= elastic.at("current_s"));
    }
    for (const char* const outcome : {"keep", "memory", "grow", "shrink"}) EXPECT_GT(outcomes[outcome], 0);
    const nlohmann::json counts = nlohmann::json::parse(read("published/summary.json")).at("elastic");
    for (const auto& [outcome, count] : outcomes) EXPECT_EQ(counts.at(outcome), count) << outcome;
}

// Rank 3 is slow during the long steps of the second run of 20 steps.
TEST_F(ElasticLayout, GivesTheLossesOfOneRankIfADecisionWeighsLengthsAndASlowRank) {
    const std::string f64 = "--dtype f64 --device reference ";
    const std::vector<nlohmann::json> one = train("train", f64, "one");

    expect_near(train("simulate --cluster cluster.json --ranks 4",
                      f64 + "--pipe 4 --microbatches 8 --elastic length --elastic-means layout "
                            "--memory-limit 100MB --straggler uneven --look-every 4 "
                            "--slow rank=3,factor=10,steps=20:60",
                      "both"),
                one, 1e-10);

    std::set<std::size_t> cause_counts;
    std::istringstream lines(read("both/decisions.jsonl"));
    for (std::string line; std::getline(lines, line);) {
        const nlohmann::json decision = nlohmann::json::parse(line);
        if (decision.contains("causes")) cause_counts.insert(decision.at("causes").size());
    }
    EXPECT_TRUE(cause_counts.contains(2)) << read("both/decisions.jsonl");
}

TEST_F(ElasticLayout, GivesTheLossesOfOneRankWithFastKernelsIfStateMovesDuringAStep) {
    const std::string f32 = "--dtype f32 --device cpu ";
    const std::vector<nlohmann::json> one = train("train", f32, "one");

    expect_near(
        train("simulate --cluster cluster.json --ranks 4",
              f32 + "--pipe 4 --microbatches 4 --elastic length --memory-limit 100MB --move overlap", "merged"),
        one, 1e-5);

    const std::vector<std::size_t> stages = list_stages("merged");
    ASSERT_FALSE(stages.empty());
    EXPECT_LT(stages.front(), 4);
}

}  // namespace
}  // namespace trireme::messages
