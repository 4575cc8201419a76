// Slow ranks without tensor parallelism: replicas execute fewer micro-batches, stages hold fewer layers, and
// slow ranks are grouped. Losses do not change.
#include "messages/straggler_runs.hpp"

namespace trireme::messages {
namespace {

constexpr const char* of_deep_model =
    "--corpus corpus.h5 --model gpt2-tiny --layers 4 --width 32 --heads 4 --mlp-width 128 --positions 32 "
    "--validation-share 0.2 --batch 8 --dropout 0.1 --lr 3e-3 --threads 1 --length fixed ";
constexpr const char* exactly = "--dtype f64 --device reference ";

class Redistribution : public Stragglers {
protected:
    Outcome simulate_deep(int ranks, const std::string& options, int steps = 40,
                          const std::string& numbers = exactly) const {
        const bool decides = options.find("--straggler") != std::string::npos;
        const Outcome outcome = run("simulate --ranks " + std::to_string(ranks) +
                                    " --cluster double.json --steps " + std::to_string(steps) +
                                    (decides ? " --look-every 5 " : " ") + of_deep_model + numbers + options);
        EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
        return outcome;
    }

    void train_on_one_rank(int steps = 40, const std::string& numbers = exactly) const {
        ASSERT_EQ(
            run("train --run-dir one --steps " + std::to_string(steps) + ' ' + of_deep_model + numbers).code,
            0);
    }

    double seconds(const std::string& folder, std::size_t step) const {
        return training_steps(folder).at(step).at("seconds");
    }

    static std::vector<std::size_t> read_turns(const json& decision) {
        std::vector<std::size_t> turns;
        for (const json& replica : decision.at("layout").at("stages")[0].at("replicas"))
            turns.push_back(replica.value("turns", std::size_t{1}));
        return turns;
    }

    static std::vector<std::size_t> cuts_of(const json& decision) {
        std::vector<std::size_t> cuts;
        for (const json& stage : decision.at("layout").at("stages"))
            cuts.push_back(stage.at("layers")[1].get<std::size_t>() - stage.at("layers")[0].get<std::size_t>());
        return cuts;
    }
};

TEST_F(Redistribution, GivesSlowReplicasFewerMicrobatches) {
    train_on_one_rank();
    const std::string options = "--data 2 --microbatches 4 --slow rank=1,factor=3,steps=6:25 --run-dir ";

    simulate_deep(2, options + "off");
    simulate_deep(2, options + "uneven --straggler uneven");

    EXPECT_LE(max_relative_difference(losses("uneven"), losses("one")), 1e-10);
    const std::vector<json> made = decisions("uneven");
    ASSERT_EQ(made.size(), 2U);
    EXPECT_EQ(read_turns(made[0]), (std::vector<std::size_t>{3, 1}));
    EXPECT_EQ(made[0].at("terms").at("moved_bytes"), 0) << "replicas have the same parameters";
    EXPECT_EQ(read_turns(made[1]), (std::vector<std::size_t>{1, 1}));
    EXPECT_LT(seconds("uneven", 20), 0.6 * seconds("off", 20));
    EXPECT_NEAR(seconds("uneven", 38), seconds("off", 38), 1e-9);

    simulate_deep(2, "--data 2 --microbatches 4 --decisions uneven/decisions.jsonl --run-dir again");
    EXPECT_EQ(losses("again"), losses("uneven"));
}

TEST_F(Redistribution, GivesSlowStagesFewerLayers) {
    train_on_one_rank();
    for (const std::string schedule : {"1f1b", "zb-h1"}) {
        const std::string options = "--pipe 3 --microbatches 8 --slow rank=1,factor=3,steps=6:25 --schedule " +
                                    schedule + " --run-dir " + schedule;

        simulate_deep(3, options + "-off");
        simulate_deep(3, options + " --straggler uneven");

        EXPECT_LE(max_relative_difference(losses(schedule), losses("one")), 1e-10);
        const std::vector<json> made = decisions(schedule);
        ASSERT_FALSE(made.empty());
        EXPECT_LT(cuts_of(made[0])[1], cuts_of(made[0])[0]);
        EXPECT_GT(made[0].at("terms").at("moved_bytes"), 0);
        EXPECT_LT(seconds(schedule, 20), 0.7 * seconds(schedule + "-off", 20));
    }
}

// Two pipelines of two stages, each with one slow rank.
TEST_F(Redistribution, ShortensStepsIfEachPipelineHasASlowRank) {
    train_on_one_rank();
    const std::string options =
        "--pipe 2 --data 2 --microbatches 4 --slow rank=0,factor=4,steps=6:25 --slow "
        "rank=3,factor=4,steps=6:25 "
        "--run-dir ";

    simulate_deep(4, options + "off");
    simulate_deep(4, options + "uneven --straggler uneven");

    EXPECT_LE(max_relative_difference(losses("uneven"), losses("one")), 1e-10);
    const std::vector<json> made = decisions("uneven");
    ASSERT_FALSE(made.empty());
    EXPECT_LT(seconds("uneven", 20), 0.6 * seconds("off", 20));
    simulate_deep(4, "--pipe 2 --data 2 --microbatches 4 --decisions uneven/decisions.jsonl --run-dir again");
    EXPECT_EQ(losses("again"), losses("uneven"));
}

TEST_F(Redistribution, ChangesNoLossWithTensorParallelismInSinglePrecision) {
    const std::string fast = "--dtype f32 --device cpu ";
    train_on_one_rank(30, fast);
    json cluster = json::parse(read("double.json"));
    cluster["nodes"] = 4;
    write("double.json", cluster.dump());

    simulate_deep(8,
                  "--pipe 2 --data 2 --tensor 2 --microbatches 4 --slow rank=2,factor=4,steps=6:20 "
                  "--slow rank=5,factor=2.5,steps=6:25 --straggler uneven --run-dir uneven",
                  30, fast);

    EXPECT_LE(max_relative_difference(losses("uneven"), losses("one")), 1e-5);
    EXPECT_FALSE(decisions("uneven").empty());
}

TEST_F(Redistribution, MatchesThatOfGhostRuns) {
    const std::string options =
        "--pipe 2 --data 2 --microbatches 4 --slow rank=0,factor=4,steps=6:25 --straggler uneven --run-dir ";

    simulate_deep(4, options + "with");
    simulate_deep(4, options + "without --math off --device ghost", 40, "--dtype f64 ");

    const std::vector<json> with = decisions("with");
    const std::vector<json> without = decisions("without");
    ASSERT_EQ(with.size(), without.size());
    for (std::size_t d = 0; d < with.size(); ++d) EXPECT_EQ(with[d].at("layout"), without[d].at("layout")) << d;
}

TEST_F(Redistribution, ChangesNoLossInWallTime) {
    train_on_one_rank(16);
    for (std::size_t mpi = 0; mpi < mpi_libraries(); ++mpi) {
        for (const std::string way : {"--data 2", "--pipe 2"}) {
            const std::string folder = way.substr(2, 4) + std::to_string(mpi);

            const Outcome outcome =
                run("train --microbatches 4 --slow rank=1,factor=12,steps=4: --straggler uneven "
                    "--look-every 4 --steps 16 --run-dir " +
                        folder + ' ' + way + ' ' + of_deep_model + exactly,
                    2, mpi);

            ASSERT_EQ(outcome.code, 0) << outcome.err;
            EXPECT_LE(max_relative_difference(losses(folder), losses("one")), 1e-10);
            EXPECT_FALSE(decisions(folder).empty()) << outcome.out;
        }
    }
}

// Runs that drain at the same step have the same losses, with even and with uneven turns after it.
TEST_F(Redistribution, ChangesNoLossWithOverlappingSteps) {
    const auto decided = [&](const std::string& name, const std::string& first, const std::string& second) {
        write(
            name + ".jsonl",
            R"({"step": 5, "layout": {"layers": 11, "stages": [{"layers": [0, 6], "replicas": [{"ranks": [0])" +
                first +
                R"(}, {"ranks": [1]}]}, {"layers": [6, 11], "replicas": [{"ranks": [2]}, {"ranks": [3])" +
                second + "}]}]}}\n");
        simulate_deep(4,
                      "--pipe 2 --data 2 --microbatches 4 --schedule pipedream-2bw --decisions " + name +
                          ".jsonl --run-dir " + name,
                      15);
    };

    decided("even", "", "");
    decided("uneven", R"(, "turns": 3)", R"(, "turns": 7)");

    EXPECT_LE(max_relative_difference(losses("uneven"), losses("even")), 1e-10);
}

// Turns of replicas that a layout file sets.
TEST_F(Redistribution, ChangesNoLossWithTurnsFromALayoutFile) {
    train_on_one_rank(8);
    write("turns.json",
          R"({"layers": 11, "stages": [{"layers": [0, 6], "replicas": [{"ranks": [0], "turns": 3},)"
          R"( {"ranks": [1]}]}, {"layers": [6, 11], "replicas": [{"ranks": [2]}]}]})");
    for (const std::string schedule : {"1f1b", "gpipe", "inter-layer", "auto"}) {
        const Outcome outcome = run("train --layout turns.json --microbatches 8 --steps 8 --run-dir " +
                                        schedule + " --schedule " + schedule + ' ' + of_deep_model + exactly,
                                    3, 0);
        ASSERT_EQ(outcome.code, 0) << outcome.err;
        EXPECT_LE(max_relative_difference(losses(schedule), losses("one")), 1e-10) << schedule;
    }
}

TEST_F(Redistribution, IsRejectedIfNoWorkCanMove) {
    const auto refusal = [&](const std::string& options, int ranks) {
        const Outcome refused =
            run("train --steps 4 --straggler uneven --run-dir run " + options + ' ' + of_deep_model + exactly,
                ranks, 0);
        EXPECT_EQ(refused.code, 2) << options;
        return refused.err;
    };

    EXPECT_NE(refusal("", 1).find("trireme: --straggler uneven cannot move work: only one rank computes; "
                                  "use --tensor"),
              std::string::npos);
    EXPECT_NE(refusal("--pipe 2 --chunks 2 --schedule interleaved --microbatches 4", 2)
                  .find("and schedule interleaved allows neither other stage boundaries nor unequal numbers of "
                        "micro-batches"),
              std::string::npos);
    EXPECT_NE(
        refusal("--pipe 2 --microbatches 4 --bridge 10", 2).find("--bridge needs ranks that share layers"),
        std::string::npos);
}

}  // namespace
}  // namespace trireme::messages
