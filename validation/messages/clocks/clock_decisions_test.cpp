// Decisions about clocks, and clocks of runs whose plan changes.
#include <random>
#include <set>

#include "messages/simulated_runs.hpp"

namespace trireme::messages {
namespace {

class ClockDecisions : public Simulate {
protected:
    void SetUp() override {
        Simulate::SetUp();
        write("abacus.json", clocked_abacus().dump());
    }

    Outcome simulate(const std::string& options) const {
        const Outcome outcome =
            run("simulate --ranks 4 --cluster abacus.json --corpus corpus.h5 --model gpt2-tiny --batch 8 "
                "--microbatches 4 --max-length 32 --length fixed --threads 1 " +
                options);
        EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
        return outcome;
    }

    // Returns the layout of a run, whose ranks are those of the pipeline in order. `cut` is the first layer of
    // the last stage.
    static json four_stages(std::size_t cut) {
        json stages = json::array();
        const std::size_t bounds[] = {0, 2, 4, cut, 7};
        for (int s = 0; s < 4; ++s)
            stages.push_back({{"layers", {bounds[s], bounds[s + 1]}}, {"replicas", {{{"ranks", {s}}}}}});
        return {{"layers", 7}, {"stages", stages}};
    }

    // Returns the programs of a schedule for four stages, one per line.
    std::string write_programs(const std::string& schedule) const {
        const Outcome plan =
            run("plan --model gpt2-tiny --vocabulary 257 --microbatches 4 --format csv --pipe 4 --schedule " +
                schedule);
        EXPECT_EQ(plan.code, 0) << plan.err;
        return plan.out;
    }

    // Returns random clocks for the passes of each stage.
    json draw_clocks(const std::string& programs) {
        json clocks = json::array();
        std::istringstream lines(programs);
        for (std::string line; std::getline(lines, line);) {
            std::string text;
            std::istringstream cells(line);
            for (std::string cell; std::getline(cells, cell, ',');)
                if (cell.find_first_not_of("0123456789FBIW") == std::string::npos)
                    text += (text.empty() ? "" : " ") + std::to_string(300 * (1 + random_() % 3));
            clocks.push_back(text);
        }
        return clocks;
    }

    static void expect_near(const std::vector<json>& values, const std::vector<json>& expected,
                            double tolerance) {
        ASSERT_EQ(values.size(), expected.size());
        for (std::size_t i = 0; i < values.size(); ++i)
            EXPECT_NEAR(values[i].get<double>(), expected[i].get<double>(),
                        tolerance * expected[i].get<double>());
    }

    std::mt19937 random_{11};
};

// The clipped norm makes some guesses of zb-h1 wrong, so that updates are rolled back.
TEST_F(ClockDecisions, ChangeNoLossAndMoveNoByte) {
    const std::string options =
        "--layers 2 --width 32 --heads 4 --mlp-width 64 --steps 8 --pipe 4 --schedule zb-h1 --dtype f64 "
        "--device reference --clip 0.5 --eval-every "
        "2 "
        "--validation-share 0.1 --quiet ";
    const std::string programs = write_programs("zb-h1");
    std::string plain_lines, clock_lines;
    for (std::size_t step = 1; step < 8; ++step) {
        json decision{{"step", step}, {"layout", four_stages(step < 4 ? 6 : 5)}};
        const bool changes_layout = step == 1 || step == 4;
        if (changes_layout) plain_lines += decision.dump() + "\n";
        decision["clocks"] = draw_clocks(programs);
        clock_lines += decision.dump() + "\n";
    }
    write("plain.jsonl", plain_lines);
    write("clocks.jsonl", clock_lines);

    simulate(options + "--decisions plain.jsonl --run-dir plain");
    simulate(options + "--decisions clocks.jsonl --checkpoint-every 3 --run-dir run");
    simulate(options + "--decisions run/decisions.jsonl --run-dir again");
    simulate("--resume run/checkpoints/step-6 --decisions clocks.jsonl --run-dir rest");

    for (const char* const field : {"loss", "grad_norm", "validation_loss"}) {
        const std::vector<json> plain = list("plain", field);
        EXPECT_EQ(list("run", field), plain) << field;
    }
    const std::vector<json> losses = list("plain", "loss");
    EXPECT_EQ(list("rest", "loss"), std::vector<json>(losses.begin() + 6, losses.end()));
    EXPECT_GT(std::ranges::count(list("run", "rolled_back"), json(true)), 0);
    std::set<std::string> hashes;
    for (const json& made : decisions("run")) {
        hashes.insert(made.at("to").get<std::string>());
        const bool changes_layout = made.at("step") == 1 || made.at("step") == 4;
        EXPECT_EQ(made.at("terms").at("moved_bytes") > 0, changes_layout) << made;
    }
    EXPECT_EQ(hashes.size(), 7U);
    EXPECT_EQ(list("again", "plan"), list("run", "plan"));
    for (const char* const field : {"seconds", "energy_j"})
        expect_near(list("again", field), list("run", field), 1e-12);

    EXPECT_NE(list("run", "seconds").at(2), list("run", "seconds").at(1));
}

// Each stage has another clock. A low clock is not slowness.
TEST_F(ClockDecisions, DoNotMakeRanksSlow) {
    std::istringstream programs(write_programs("1f1b"));
    std::string clocked;
    int mhz = 900;
    for (std::string program; std::getline(programs, program); mhz = mhz == 300 ? 900 : mhz - 300)
        clocked += "CLOCK" + std::to_string(mhz) + "," + program + "\n";
    write("clocked.csv", clocked);

    const Outcome outcome = simulate(
        "--math off --steps 220 --pipe 4 --schedule clocked.csv --straggler uneven --look-every 5 "
        "--slow rank=2,factor=2,steps=201:220 --run-dir run");

    const std::vector<json> made = steps("run");
    ASSERT_EQ(made.size(), 220U);
    for (std::size_t step = 0; step < 200; ++step) EXPECT_FALSE(made[step].contains("slowness")) << step;
    EXPECT_EQ(made[199].at("plan"), made[0].at("plan"));
    ASSERT_TRUE(made[205].contains("slowness")) << outcome.out;
    for (int rank = 0; rank < 4; ++rank)
        EXPECT_NEAR(made[205].at("slowness")[rank].get<double>(), rank == 2 ? 2 : 1, 1e-6) << rank;
}

TEST_F(ClockDecisions, FollowThePlanWithUniformClocks) {
    const std::string options =
        "--layers 1 --width 32 --heads 8 --mlp-width 128 --steps 24 --tensor 4 --energy uniform "
        "--slow rank=1,factor=4,steps=6:30 ";

    simulate(options + "--straggler uneven --look-every 5 --bridge 5 --checkpoint-every 18 --run-dir run");
    simulate(options + "--decisions run/decisions.jsonl --run-dir again");
    simulate("--resume run/checkpoints/step-18 --run-dir rest");

    ASSERT_GE(decisions("run").size(), 1U);
    for (const json& made : decisions("run")) EXPECT_EQ(made.at("clocks").size(), 1U);
    EXPECT_EQ(list("again", "plan"), list("run", "plan"));
    EXPECT_NE(list("run", "plan").at(0), list("run", "plan").at(17));
    EXPECT_EQ(list("rest", "plan").front(), list("run", "plan").at(17));
    constexpr double exchanged_by_policy = 1e-4;  // fraction of a step in which a policy sends 512 bytes
    expect_near(list("again", "energy_j"), list("run", "energy_j"), exchanged_by_policy);
}

TEST_F(ClockDecisions, AreRejectedIfTheyCannotBeFollowed) {
    const auto expect_rejection = [&](const json& clocks, const std::string& command,
                                      const std::string& message) {
        write("d.jsonl", json{{"step", 1}, {"layout", four_stages(6)}, {"clocks", clocks}}.dump() + "\n");
        expect_refusal(command +
                           " --corpus corpus.h5 --model gpt2-tiny --layers 2 --batch 8 --microbatches 4 "
                           "--steps 2 --pipe 4 --decisions d.jsonl",
                       {"--decisions d.jsonl, step 1: " + message});
    };
    const std::string simulate = "simulate --ranks 4 --math off --cluster ";
    json plain = abacus();
    write("plain.json", plain.dump());

    expect_rejection({"8*900", "8*900", "8*900"}, simulate + "abacus.json",
                     "\"clocks\" is given for 3 stages, but the layout has 4; give one entry per stage");
    expect_rejection(
        {"8*900", "8*900", "9*900", "8*900"}, simulate + "abacus.json",
        "\"clocks\" has 9 clocks for stage 2, but the number of passes that replica 0 of this stage "
        "executes in a step is 8; give one clock per pass");
    expect_rejection(
        {"8*900", "8*900", "2*610 6*900", "8*900"}, simulate + "abacus.json",
        "610 MHz in \"clocks\" is not a clock of the device of rank 2; the nearest one is 600 MHz");
    expect_rejection(
        {"8*900", "8*900", "8*900", "8*900"}, simulate + "plain.json",
        "the decision sets clocks, but the clocks and watts of the device of rank 0 are not known; "
        "name a file that lists them (device.clocks) with --cluster");
    write(
        "one.jsonl",
        R"({"step": 1, "layout": {"layers": 5, "stages": [{"layers": [0, 5], "replicas": [{"ranks": [0]}]}]}, )"
        R"("clocks": ["2*900"]})"
        "\n");
    expect_train_refusal(
        "--decisions one.jsonl",
        {"--decisions one.jsonl, step 1: the decision sets clocks during a step, but Trireme cannot "
         "set the clock of a CPU"});
}

}  // namespace
}  // namespace trireme::messages
