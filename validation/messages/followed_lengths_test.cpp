// Layouts that follow the lengths of samples, in simulated time.
#include "messages/simulated_runs.hpp"

namespace trireme::messages {
namespace {

class FollowedLengths : public Simulate {
protected:
    static constexpr std::size_t batch = 8;

    void SetUp() override {
        Simulate::SetUp();
        if (IsSkipped()) return;
        json cluster = abacus();
        cluster["inside"]["bandwidth"] = cluster["between"]["bandwidth"] = 1e9;
        write("fast-links.json", cluster.dump());
    }

    // Makes a corpus in which the samples of step i have lengths[i % lengths.size()] tokens.
    void prepare(const std::vector<std::size_t>& lengths, std::size_t steps, const std::string& corpus) const {
        std::string rows;
        for (std::size_t row = 0; row < batch * steps; ++row)
            rows += json{{"text", std::string(lengths[row / batch % lengths.size()], 'a')}}.dump() + "\n";
        write("rows.jsonl", rows);
        ASSERT_EQ(run("prepare rows.jsonl --tokenizer bytes --quiet --output " + corpus).code, 0);
    }

    // Returns the layouts to which the run changes.
    std::vector<json> list_changes(const std::string& corpus, const std::string& options,
                                   const std::string& folder) const {
        const Outcome outcome = run(
            "simulate --math off --ranks 4 --cluster fast-links.json --validation-share 0 --order corpus "
            "--layers "
            "4 "
            "--width 16 --heads 2 --positions 128 --dropout 0 --quiet --elastic length --memory-limit 100MB "
            "--batch 8 --corpus " +
            corpus + ' ' + options + " --run-dir " + folder);
        EXPECT_EQ(outcome.code, 0) << outcome.err;
        std::vector<json> layouts;
        std::istringstream lines(read_if_present(folder + "/decisions.jsonl"));
        for (std::string line; std::getline(lines, line);)
            if (const json decision = json::parse(line); decision.contains("layout"))
                layouts.push_back(decision.at("layout"));
        return layouts;
    }

    std::string read_if_present(const std::string& file) const {
        return std::filesystem::exists(path(file)) ? read(file) : "";
    }
};

TEST_F(FollowedLengths, KeepTheBestLayoutOfEqualSteps) {
    prepare({60}, 30, "equal.h5");
    const std::vector<json> changes = list_changes("equal.h5", "--pipe 4 --microbatches 4 --steps 30", "first");
    ASSERT_EQ(changes.size(), 1);
    write("best.json", changes.front().dump());

    EXPECT_TRUE(list_changes("equal.h5", "--layout best.json --microbatches 4 --steps 30", "second").empty());
}

// One long step does not repay two changes.
TEST_F(FollowedLengths, ChangeAtMostOnceIfLengthsAlternate) {
    prepare({20, 110}, 30, "alternating.h5");

    EXPECT_LE(list_changes("alternating.h5", "--pipe 4 --microbatches 4 --steps 30", "run").size(), 1);
}

// The two corpora differ only after step 20.
TEST_F(FollowedLengths, DoNotDependOnStepsBeyondTheWindow) {
    std::vector<std::size_t> lengths(20, 20);
    prepare(lengths, 30, "short.h5");
    lengths.insert(lengths.end(), 10, 110);
    prepare(lengths, 30, "long.h5");
    const std::string options = "--pipe 4 --microbatches 4 --steps 30 --horizon 10 --look-ahead 5";

    const std::vector<json> of_short_steps = list_changes("short.h5", options, "short");
    const std::vector<json> of_long_steps = list_changes("long.h5", options, "long");

    ASSERT_FALSE(of_short_steps.empty());
    ASSERT_FALSE(of_long_steps.empty());
    EXPECT_EQ(of_long_steps.front(), of_short_steps.front());
}

}  // namespace
}  // namespace trireme::messages
