// Runs whose layout follows the number of frozen blocks: combinations of options, and what is refused.
#include <regex>

#include "messages/straggler_runs.hpp"

namespace trireme::messages {
namespace {

class AutoPipe : public Simulate {
protected:
    static constexpr const char* of_blocks =
        "--corpus corpus.h5 --model gpt2-tiny --width 16 --heads 4 --positions 24 --dropout 0.1 --batch 16 "
        "--validation-share 0.2 --dtype f64 --threads 1 --quiet ";

    // The rows of the corpus have 1 to 24 tokens. All devices of the cluster are in one node.
    void SetUp() override {
        Simulate::SetUp();
        if (IsSkipped()) return;
        std::string rows;
        for (std::size_t row = 0; row < 60; ++row)
            rows +=
                json{{"text", std::string(1 + row * 7 % 23, static_cast<char>('a' + row % 5))}}.dump() + '\n';
        write("rows.jsonl", rows);
        ASSERT_EQ(run("prepare rows.jsonl --tokenizer bytes --quiet --output corpus.h5").code, 0);
        json cluster = abacus();
        cluster["devices_per_node"] = 8;
        cluster["nodes"] = 1;
        cluster["device"]["flops"]["f64"] = 1e9;
        cluster.erase("between");
        write("node.json", cluster.dump());
    }

    // Runs on four simulated devices.
    void simulate(const std::string& options, const std::string& folder) const {
        const Outcome outcome = run("simulate --cluster node.json --ranks 4 --pipe 4 --microbatches 8 " +
                                    std::string(of_blocks) + options + " --run-dir " + folder);
        ASSERT_EQ(outcome.code, 0) << options << '\n' << outcome.out << outcome.err;
    }

    std::vector<int> depths(const std::string& folder) const {
        std::vector<int> all;
        for (const json& step : steps(folder))
            if (step.contains("layer_passes")) all.push_back(step.value("frozen", 0));
        return all;
    }

    // Returns the layouts to which a run changed.
    std::vector<json> layouts(const std::string& folder) const {
        std::vector<json> all;
        for (const json& decision : decisions(folder))
            if (decision.contains("layout")) all.push_back(decision.at("layout"));
        return all;
    }

    // Without --auto-dp, each stage has one replica, as the options say. Otherwise, no rank is idle.
    void expect_use_of_freed_ranks(const std::string& folder, bool auto_dp) const {
        for (const json& layout : layouts(folder)) {
            if (auto_dp) {
                EXPECT_TRUE(layout.at("idle").empty()) << layout;
                continue;
            }
            for (const json& stage : layout.at("stages")) EXPECT_EQ(stage.at("replicas").size(), 1U) << layout;
        }
    }

    // The reason of a decision counts the stages of its layout.
    void expect_consistent_reasons(const std::string& folder) const {
        const std::regex sentence("steps are shortest with ([0-9]+) stage");
        for (const json& decision : decisions(folder)) {
            const std::string reason = decision.value("reason", "");
            std::smatch match;
            if (!std::regex_search(reason, match, sentence)) continue;
            EXPECT_EQ(std::to_string(decision.at("layout").at("stages").size()), match[1]) << decision;
        }
    }

    std::vector<double> losses(const std::string& folder) const {
        std::vector<double> all;
        for (const json& step : steps(folder))
            if (step.contains("grad_norm")) all.push_back(step.at("loss"));
        return all;
    }

    // Returns the number of bytes that the refusal of a memory limit asks for.
    static std::string find_needed_bytes(const std::string& sentence) {
        const std::string before = "needs at least ";
        std::string bytes;
        if (!has(sentence, before)) return bytes;
        for (std::size_t at = sentence.find(before) + before.size(); at < sentence.size(); ++at) {
            if (sentence[at] == ',') continue;
            if (std::isdigit(static_cast<unsigned char>(sentence[at])) == 0) break;
            bytes += sentence[at];
        }
        return bytes;
    }
};

TEST_F(AutoPipe, RunsWithAllCombinationsOfFreezingAndLayouts) {
    for (const std::string freeze : {"off", "schedule --freeze-every 4 --freeze-alpha 0.5"}) {
        for (const std::string pipe : {"off", "on"}) {
            for (const bool dp : {false, true}) {
                const std::string options = "--math off --layers 8 --steps 12 --freeze " + freeze +
                                            " --auto-pipe " + pipe + " --auto-dp " + (dp ? "on" : "off");
                SCOPED_TRACE(options);
                const std::string folder = "run-" + std::to_string(content().size());

                simulate(options, folder);

                const std::vector<int> frozen = depths(folder);
                ASSERT_EQ(frozen.size(), 12U);
                EXPECT_EQ(frozen.back(), freeze == "off" ? 0 : 6);
                expect_use_of_freed_ranks(folder, dp && pipe == "on");
                expect_consistent_reasons(folder);
            }
        }
    }
}

TEST_F(AutoPipe, SaysInOneLineThatAPartHasNothingToDo) {
    const auto find_lines = [&](const std::string& options, int ranks) {
        std::string training = of_blocks;
        training.erase(training.find("--quiet"));
        const Outcome outcome = run("simulate --cluster node.json --math off --layers 8 --steps 2 " + training +
                                    "--ranks " + std::to_string(ranks) + " --microbatches 8 " + options);
        EXPECT_EQ(outcome.code, 0) << outcome.err;
        std::vector<std::string> found;
        std::istringstream lines(outcome.out);
        for (std::string line; std::getline(lines, line);)
            if (has(line, "nothing to do") || has(line, "does not grow")) found.push_back(line);
        return found;
    };

    EXPECT_EQ(find_lines("--pipe 4 --auto-pipe on", 4),
              std::vector<std::string>{
                  "auto-pipe nothing to do, because --freeze is off and the number of frozen blocks stays"});
    EXPECT_EQ(find_lines("--freeze schedule --freeze-every 1 --auto-pipe on", 1),
              std::vector<std::string>{"auto-pipe nothing to do, because all ranks share all layers"});
    EXPECT_EQ(find_lines("--pipe 4 --freeze schedule --freeze-every 1 --auto-dp on", 4),
              std::vector<std::string>{"auto-dp   nothing to do, because --auto-pipe frees no rank"});
    EXPECT_EQ(find_lines("--pipe 4 --batch-policy grow", 4),
              std::vector<std::string>{"batch     does not grow, because the number of pipelines stays"});
    EXPECT_TRUE(find_lines("--pipe 4 --freeze schedule --freeze-every 1 --auto-pipe on", 4).empty());
}

// Rank 1 is slow for a while. Later layouts are the best ones for their frozen blocks, not that of the options.
TEST_F(AutoPipe, ReturnsToTheBestLayoutWhenNoRankIsSlow) {
    simulate(
        "--math off --layers 6 --steps 40 --freeze-every 8 --freeze-alpha 0.3 --straggler uneven --look-every "
        "4 "
        "--slow rank=1,factor=4,steps=3:14 --elastic freeze",
        "slow");

    EXPECT_EQ(depths("slow").back(), 5);
    EXPECT_GE(layouts("slow").size(), 3U);
    for (const json& decision : decisions("slow")) {
        if (decision.at("step") < 15) continue;
        EXPECT_FALSE(has(decision.at("reason"), "rank 1")) << decision;
        EXPECT_LT(decision.at("layout").at("stages").size(), 4U) << decision;
    }
}

TEST_F(AutoPipe, WeighsLengthsAndASlowRankInTheSameDecision) {
    const Outcome outcome = run(
        "simulate --cluster node.json --ranks 4 --pipe 4 --microbatches 4 --math off --layers 4 --steps 5 "
        "--freeze-every 4 --freeze-alpha 0.3 --memory-limit 3000000 --straggler uneven --look-every 4 --slow "
        "rank=1,factor=4 --elastic both --run-dir all " +
        std::regex_replace(of_blocks, std::regex("--batch 16"), "--batch 8"));
    ASSERT_EQ(outcome.code, 0) << outcome.err;

    const std::vector<json> made = decisions("all");
    ASSERT_EQ(made.size(), 2U);
    EXPECT_EQ(made.back().at("step"), 4);
    std::set<std::string> causes;
    for (const json& cause : made.back().at("causes")) causes.insert(cause.at("proposer"));
    EXPECT_EQ(causes, (std::set<std::string>{"auto-pipe", "freeze-schedule", "uneven"}));
}

// Each period has one step, and no change of layout repays its time in one step.
TEST_F(AutoPipe, FreezesBlocksThoughNoLayoutIsWorthAChange) {
    simulate(
        "--math off --layers 8 --steps 6 --freeze schedule --freeze-every 1 --freeze-alpha 0.3 --auto-pipe on "
        "--horizon 1",
        "short");

    EXPECT_EQ(depths("short"), (std::vector{0, 3, 5, 6, 7, 7}));
}

// The first layout gets its own clocks, and its decision replays them.
TEST_F(AutoPipe, SetsTheClocksOfItsFirstLayout) {
    json cluster = clocked_abacus();
    cluster["devices_per_node"] = 8;
    cluster["nodes"] = 1;
    cluster.erase("between");
    write("node.json", cluster.dump());
    const std::string options =
        "--math off --layers 8 --steps 6 --freeze schedule --freeze-every 4 --freeze-alpha 0.5 --auto-pipe "
        "on --auto-dp off --energy uniform ";
    simulate(options, "first");

    simulate(options + "--decisions first/decisions.jsonl", "replay");

    ASSERT_FALSE(decisions("first").empty());
    EXPECT_EQ(decisions("first").front().at("step"), 0);
    ASSERT_EQ(decisions("replay").size(), decisions("first").size());
    for (std::size_t d = 0; d < decisions("first").size(); ++d)
        EXPECT_EQ(decisions("replay")[d].at("to"), decisions("first")[d].at("to"));
}

// Recorded decisions lead to the same plans and to the same simulated times.
TEST_F(AutoPipe, IsReplayed) {
    const std::string options = "--math off --layers 8 --steps 12 --freeze-every 4 --freeze-alpha 0.5 ";
    simulate(options + "--elastic freeze", "first");

    simulate(options + "--elastic freeze --decisions first/decisions.jsonl", "replay");

    ASSERT_EQ(steps("replay").size(), steps("first").size());
    for (std::size_t step = 0; step < steps("first").size(); ++step) {
        EXPECT_EQ(steps("replay")[step].at("plan"), steps("first")[step].at("plan")) << step;
        EXPECT_NEAR(steps("replay")[step].at("seconds"), steps("first")[step].at("seconds"), 1e-12) << step;
    }
}

TEST_F(AutoPipe, ExplainsElasticStepsWithoutReplicas) {
    simulate(
        "--math off --layers 4 --steps 8 --freeze-every 3 --freeze-alpha 0.3 --memory-limit 3000000 --elastic "
        "both --auto-dp off",
        "both");

    EXPECT_EQ(depths("both"), (std::vector{0, 0, 0, 2, 2, 2, 3, 3}));
    EXPECT_FALSE(layouts("both").empty());
    expect_consistent_reasons("both");
}

// Simulated devices have the times of the cluster, in which messages take time.
TEST_F(AutoPipe, GivesTheLossesOfOneRankInSimulations) {
    const std::string training =
        "--device reference --layers 4 --steps 6 --freeze-every 3 --freeze-alpha 0.3 --memory-limit 3000000 ";
    simulate(training + "--freeze schedule", "off");

    simulate(training + "--elastic freeze", "on");

    EXPECT_EQ(depths("on"), depths("off"));
    EXPECT_LE(max_relative_difference(losses("on"), losses("off")), 1e-10);
    EXPECT_FALSE(layouts("on").empty());
    expect_consistent_reasons("on");
}

TEST_F(AutoPipe, IsRefusedWhereTheRuleHasNoLayout) {
    const std::string training =
        "simulate --cluster node.json --ranks 4 --layers 8 --steps 3 --freeze schedule --freeze-every 1 " +
        std::string(of_blocks) + "--microbatches 4 ";
    const std::string planned =
        "plan --model gpt2-tiny --layers 8 --width 16 --heads 4 --positions 24 "
        "--microbatches 4 --pipe 4 --vocabulary 257 --batch 16 --max-length 24 ";
    ASSERT_EQ(run(planned + "--format json --output layout.json").code, 0);
    ASSERT_EQ(run(planned + "--format csv --output schedule.csv").code, 0);

    expect_refusal(training + "--auto-pipe published", {"--auto-pipe published", "--pipe"});
    expect_refusal(training + "--auto-pipe published --pipe 2 --tensor 2",
                   {"--auto-pipe published", "--tensor 2"});
    expect_refusal(training + "--auto-pipe published --layout layout.json", {"--auto-pipe published"});
    for (const std::string rule : {"--auto-pipe on", "--auto-pipe published"})
        expect_refusal(training + rule + " --pipe 4 --schedule schedule.csv", {rule, "schedule.csv"});
    const std::string published = training + "--auto-pipe published --pipe 4 ";
    expect_refusal(published + "--straggler uneven", {"--auto-pipe published", "--straggler uneven"});
    expect_refusal(published + "--memory-limit 3000000 --elastic both",
                   {"--auto-pipe published", "--elastic length or both"});
    expect_refusal(published + "--memory-limit 1000", {"--memory-limit", "bytes"});
}

// A run with the limit that the refusal names is not refused, and one with a byte less is.
TEST_F(AutoPipe, NamesTheSmallestMemoryLimit) {
    const std::string training =
        "train --device reference --layers 8 --steps 2 --freeze schedule --freeze-every 4 " +
        std::string(of_blocks) + "--auto-pipe on --pipe 2 --microbatches 8 --run-dir run --memory-limit ";
    const Outcome refusal = run(training + "1000", 2);
    ASSERT_EQ(refusal.code, 2);
    ASSERT_EQ(sentences(refusal).size(), 1U) << refusal.err;
    const std::string bytes = find_needed_bytes(sentences(refusal).front());
    ASSERT_NE(bytes, "") << refusal.err;

    expect_refusal(training + std::to_string(std::stoul(bytes) - 1), {"--memory-limit", "bytes"}, 2);

    const Outcome outcome = run(training + bytes, 2);
    EXPECT_EQ(outcome.code, 0) << bytes << " bytes: " << outcome.err;
}

}  // namespace
}  // namespace trireme::messages
