// `trireme plan` lists the decisions of a run whose layout follows the lengths of samples.
#include <random>
#include <set>

#include "messages/simulated_runs.hpp"

namespace trireme::messages {
namespace {

class ForecastDecisions : public Simulate {
protected:
    static constexpr std::size_t all_steps = 60;

    // In each run of 20 steps, the last 8 have long samples.
    void SetUp() override {
        Simulate::SetUp();
        if (IsSkipped()) return;
        std::mt19937_64 random(7);
        std::string rows;
        for (std::size_t row = 0; row < 8 * all_steps; ++row) {
            const bool is_long = row / 8 % 20 >= 12;
            const std::size_t length = is_long ? 100 + random() % 20 : 8 + random() % 12;
            rows += json{{"text", std::string(length, 'a')}}.dump() + "\n";
        }
        write("rows.jsonl", rows);
        ASSERT_EQ(run("prepare rows.jsonl --tokenizer bytes --quiet --output lengths.h5").code, 0);
        json cluster = abacus();
        cluster["device"]["flops"] = {{"f64", 1e9}};
        cluster["device"]["launch"] = 1e-5;
        cluster["inside"] = {{"latency", 1e-5}, {"bandwidth", 1e9}};
        cluster["between"] = {{"latency", 1e-5}, {"bandwidth", 5e8}};
        write("two-nodes.json", cluster.dump());
    }

    static std::string list_options(const std::string& options) {
        return "--corpus lengths.h5 --order corpus --validation-share 0 --batch 8 --layers 4 --width 16 "
               "--heads "
               "2 --positions 128 --dropout 0.1 --dtype f64 --pipe 4 --microbatches 4 --recompute none "
               "--elastic length --elastic-means layout,recompute --memory-limit 1500kB --steps " +
               std::to_string(all_steps) + ' ' + options;
    }

    json forecast(const std::string& options) const {
        const Outcome outcome = run("plan --format json " + list_options(options));
        EXPECT_EQ(outcome.code, 0) << outcome.err;
        return json::parse(outcome.out);
    }

    // Returns the changes of plan without their measured times, which a forecast does not know.
    std::vector<json> list_changes(const std::string& folder) const {
        std::istringstream lines(read(folder + "/decisions.jsonl"));
        std::vector<json> changes;
        for (std::string line; std::getline(lines, line);) {
            json change = json::parse(line);
            if (!change.contains("layout")) continue;
            change.at("seconds").erase("measured");
            changes.push_back(std::move(change));
        }
        return changes;
    }

    void expect_decisions_of_run(const std::string& rule) {
        SCOPED_TRACE(rule);
        const std::string options = "--cluster two-nodes.json --change-times predicted --elastic-rule " + rule;

        const json plan = forecast(options);
        const Outcome outcome =
            run("simulate --math off --ranks 4 --quiet --run-dir " + rule + ' ' + list_options(options));
        ASSERT_EQ(outcome.code, 0) << outcome.err;

        const std::vector<json> changes = list_changes(rule);
        EXPECT_GE(changes.size(), 3);
        EXPECT_EQ(plan.at("decisions"), json(changes));
        const std::vector<json> lines = steps(rule);
        ASSERT_EQ(lines.size(), all_steps);
        ASSERT_EQ(plan.at("steps").size(), all_steps);
        std::set<std::size_t> stage_counts;
        for (std::size_t s = 0; s < all_steps; ++s) {
            const json& step = plan.at("steps").at(s);
            EXPECT_EQ(step.at("elastic"), lines[s].at("elastic")) << "step " << s + 1;
            EXPECT_EQ(step.at("bytes"), lines[s].at("predicted_bytes")) << "step " << s + 1;
            EXPECT_EQ(step.at("seconds"), lines[s].at("predicted_s")) << "step " << s + 1;
            const json& microbatch = step.at("micro_batches").front();
            EXPECT_EQ(microbatch.at("replicas").size(), microbatch.at("seconds").size());
            stage_counts.insert(microbatch.at("replicas").size());
        }
        EXPECT_GE(stage_counts.size(), 2);
    }

    void expect_refusal(const std::string& command, const std::string& text, int ranks = 0) {
        const Outcome outcome = run(command, ranks);
        EXPECT_EQ(outcome.code, 2);
        EXPECT_NE(outcome.err.find(text), std::string::npos) << outcome.err;
        if (ranks > 0) return;  // mpiexec adds lines
        EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1);
    }
};

TEST_F(ForecastDecisions, AreThoseOfTheSimulatedRun) { expect_decisions_of_run("ahead"); }

TEST_F(ForecastDecisions, AreThoseOfTheSimulatedRunByThePublishedRule) { expect_decisions_of_run("published"); }

TEST_F(ForecastDecisions, AreListedAsText) {
    const Outcome outcome = run("plan " + list_options("--cluster two-nodes.json"));

    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_NE(outcome.out.find("\nstep 1      shrink  4 stages to "), std::string::npos) << outcome.out;
    EXPECT_NE(outcome.out.find(" (the next step has samples of up to 18 tokens)\n"), std::string::npos)
        << outcome.out;
    EXPECT_NE(outcome.out.find("\ndecisions   "), std::string::npos) << outcome.out;
}

TEST_F(ForecastDecisions, NeedLinksIfChangesArePredicted) {
    const std::string no_links =
        "--change-times predicted takes the seconds of changes from the links of a profile or a cluster, but "
        "neither --profile nor --cluster is set; set one of them, or use --change-times measured";
    const std::string predicted = list_options("--change-times predicted");

    expect_refusal("plan " + predicted, no_links);
    expect_refusal("train --quiet --device reference --run-dir refused " + predicted, no_links, 4);
    EXPECT_FALSE(std::filesystem::exists(path("refused")));
    expect_refusal(
        "plan --corpus lengths.h5 --change-times predicted",
        "--change-times has no effect without layouts that the planner chooses; set --elastic length or "
        "--elastic freeze, or drop --change-times");
}

TEST_F(ForecastDecisions, NeedALayoutForTheLongestSamples) {
    std::string options = list_options("--cluster two-nodes.json");
    options.replace(options.find("1500kB"), 6, "1200kB");

    expect_refusal("plan " + options, "; no other layout fits either");
}

}  // namespace
}  // namespace trireme::messages
