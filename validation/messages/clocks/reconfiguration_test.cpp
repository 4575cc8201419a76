// EnvPipe's modes in simulated runs: losses, the loop of --reconfigure, resume and replay.
#include "messages/simulated_runs.hpp"

namespace trireme::messages {
namespace {

class Reconfiguration : public Simulate {
protected:
    void SetUp() override {
        Simulate::SetUp();
        write("abacus.json", finely_clocked_abacus().dump());
    }

    Outcome simulate(const std::string& options) const {
        const Outcome outcome = run(
            "simulate --ranks 4 --cluster abacus.json --corpus corpus.h5 --model gpt2-tiny --layers 4 "
            "--width 32 --heads 4 --mlp-width 64 --batch 16 --microbatches 8 --max-length 32 --length fixed "
            "--threads 1 --quiet --pipe 4 " +
            options);
        EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
        return outcome;
    }

    // Returns the changes of clocks.
    std::vector<json> changes(const std::string& folder) const {
        std::vector<json> changes = decisions(folder);
        std::erase_if(changes, [](const json& line) { return line.contains("no_change"); });
        return changes;
    }

    // Returns the step at which the loop of --reconfigure ended; 0 if it still runs.
    std::size_t find_end(const std::string& folder) const {
        for (const json& line : decisions(folder))
            if (line.contains("no_change")) return line.at("step");
        return 0;
    }
};

// All combinations of the options of EnvPipe.
TEST_F(Reconfiguration, ChangesNoLoss) {
    const std::string options =
        "--steps 4 --dtype f64 --device reference --eval-every 2 --validation-share 0.1 ";
    simulate(options + "--run-dir plain");
    for (const std::string schedule : {"1f1b", "envpipe"}) {
        for (const std::string energy : {"baseline", "uniform", "envelope"}) {
            for (const std::string rule : {"default", "greedy", "balanced"}) {
                const std::string name = schedule + "-" + energy + "-" + rule;
                simulate(options + "--schedule " + schedule + " --energy " + energy + " --reconfigure " + rule +
                         " --run-dir " + name);

                for (const char* const field : {"loss", "grad_norm", "validation_loss"})
                    EXPECT_EQ(list(name, field), list("plain", field)) << name << ' ' << field;
                const bool raises = energy != "baseline" && rule != "default";
                EXPECT_EQ(decisions(name).empty(), !raises) << name;
            }
        }
    }
}

// The resumed run first repeats a step with the clocks of the checkpoint, to measure its waits.
TEST_F(Reconfiguration, ContinuesAfterAResumeAndInAReplay) {
    const std::string options = "--steps 45 --schedule envpipe --energy envelope ";
    simulate(options + "--reconfigure balanced --checkpoint-every 4 --run-dir run");
    simulate("--resume run/checkpoints/step-4 --run-dir rest");
    simulate(options + "--decisions run/decisions.jsonl --run-dir again");

    const std::vector<json> made = changes("run");
    ASSERT_GT(made.size(), 4U);
    EXPECT_EQ(find_end("run"), made.back().at("step").get<std::size_t>() + 11);
    EXPECT_EQ(find_end("rest"), find_end("run") + 1);
    for (const json& change : made) {
        EXPECT_EQ(change.at("terms").at("moved_bytes"), 0);
        EXPECT_EQ(change.at("extra_forwards").size(), 4U);
    }
    const std::vector<json> losses = list("run", "loss");
    EXPECT_EQ(list("rest", "loss"), std::vector<json>(losses.begin() + 4, losses.end()));
    EXPECT_EQ(list("again", "loss"), losses);
    std::vector<json> plans = list("run", "plan");
    EXPECT_EQ(list("again", "plan"), plans);
    plans.pop_back();
    EXPECT_EQ(list("rest", "plan"), std::vector<json>(plans.begin() + 3, plans.end()));
}

// The rank becomes slow in step 43. The checkpoint of step 46 knows that, but the clocks change after step 50
// only.
TEST_F(Reconfiguration, FollowsASlowRankAfterAResume) {
    const std::string slow = "--slow rank=1,factor=2,steps=43:52 ";
    simulate("--steps 52 --schedule envpipe --energy envelope --reconfigure balanced --checkpoint-every 46 " +
             slow + "--run-dir run");
    simulate("--resume run/checkpoints/step-46 --run-dir rest " + slow);

    const auto list_energy_steps = [&](const std::string& folder) {
        std::vector<json> made = changes(folder);
        std::erase_if(made, [](const json& change) { return change.at("policy") != "energy"; });
        std::vector<json> list;
        for (const json& change : made) list.push_back(change.at("step"));
        return list;
    };
    EXPECT_TRUE(steps("run").at(45).contains("slowness"));
    EXPECT_EQ(list_energy_steps("run"), std::vector<json>{50});
    EXPECT_EQ(list_energy_steps("rest"), std::vector<json>{50});
}

// The loop ends with the time of a step at the highest clocks, and with fewer joules.
TEST_F(Reconfiguration, SavesEnergyWithoutLosingTime) {
    simulate("--steps 45 --run-dir plain");
    for (const std::string charge : {"kernels", "passes"}) {
        simulate("--steps 45 --schedule envpipe --energy envelope --reconfigure balanced --math off --charge " +
                 charge + " --run-dir " + charge);

        const json before = steps("plain").back();
        const json after = steps(charge).back();
        EXPECT_LE(after.at("seconds"), 1.01 * before.at("seconds").get<double>());
        EXPECT_LE(after.at("energy_j"), 0.95 * before.at("energy_j").get<double>());
        EXPECT_GT(find_end(charge), 0U);
    }
}

// Returns the relative difference.
double compare(const json& planned, const std::vector<json>& simulated, const char* field) {
    double mean = 0;
    for (const json& step : simulated)
        mean += step.at(field).get<double>() / static_cast<double>(simulated.size());
    return planned.get<double>() / mean - 1;
}

// More than 64 ranks do not wait for each other at the end of a step, so that the mean of several steps counts.
TEST_F(Reconfiguration, EndsWithThePlannedClocks) {
    struct Case {
        int ranks;
        const char* charge;
        const char* options;
        double tolerance;
    };
    json many = json::parse(read(TRIREME_SOURCE_DIR "/perf/clusters/v100-x8.json"));
    many["nodes"] = 16;
    many["between"] = {{"latency", 5e-6}, {"bandwidth", 1.25e10}};
    write("v100.json", many.dump());
    for (const auto& [ranks, charge, options, tolerance] :
         {Case{4, "kernels", "--pipe 4 --microbatches 8 --batch 8 --network free --vocabulary 16384", 0.01},
          Case{4, "passes", "--pipe 4 --microbatches 8 --batch 8 --network free --vocabulary 16384", 0.01},
          Case{16, "kernels", "--pipe 4 --data 2 --tensor 2 --microbatches 8 --batch 16 --vocabulary 16384",
               0.05},
          Case{16, "passes", "--pipe 4 --data 4 --microbatches 8 --batch 32 --network free", 0.01},
          Case{128, "passes", "--pipe 4 --data 32 --microbatches 4 --batch 128 --network free", 0.01}}) {
        SCOPED_TRACE(options);
        const std::string all = std::string(
                                    "--cluster v100.json --model gpt2 --max-length 512 "
                                    "--schedule envpipe --energy envelope --reconfigure balanced ") +
                                options;
        const json plan = planned(all).at("prediction");
        const std::size_t loop = plan.at("reconfigure_steps");
        const std::string folder = "loop-" + std::to_string(content().size());
        const Outcome outcome =
            run("simulate --math off --quiet --ranks " + std::to_string(ranks) + " --steps " +
                std::to_string(loop + 10) + " --run-dir " + folder + " " + all);
        ASSERT_EQ(outcome.code, 0) << outcome.out << outcome.err;

        std::vector<json> last = steps(folder);
        last.erase(last.begin(), last.end() - 5);
        EXPECT_NEAR(compare(plan.at("seconds"), last, "seconds"), 0, tolerance);
        EXPECT_NEAR(compare(plan.at("energy_j"), last, "energy_j"), 0, tolerance);
        ASSERT_FALSE(changes(folder).empty());
        const json clocks = changes(folder).back().at("clocks");
        for (const json& of_stage : clocks)
            EXPECT_TRUE(of_stage.is_string()) << "replicas differ: " << of_stage;
    }
}

// No clock can be raised, and none needs to be known.
TEST_F(Reconfiguration, HasNoEffectWithoutClocksThatCouldBeRaised) {
    write("plain.json", abacus().dump());
    for (const std::string options :
         {"--pipe 4 --microbatches 4",
          "--elastic length --memory-limit 100MB --pipe 2 --data 2 --microbatches 4"}) {
        const Outcome outcome =
            run("simulate --math off --quiet --ranks 4 --cluster plain.json --model gpt2-tiny --corpus "
                "corpus.h5 --batch 8 "
                "--steps 3 --reconfigure balanced --run-dir " +
                std::to_string(content().size()) + " " + options);
        EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
    }
    EXPECT_EQ(planned("--cluster plain.json --model gpt2-tiny --pipe 4 --microbatches 4 --reconfigure balanced")
                  .at("prediction")
                  .count("reconfigure_steps"),
              0U);
}

TEST_F(Reconfiguration, NeedsTheSchedulesOfEnvPipe) {
    for (const std::string option : {"--energy envelope", "--reconfigure greedy", "--reconfigure balanced"})
        for (const std::string command : {"simulate --ranks 4 --math off", "plan"})
            expect_refusal(command +
                               " --cluster abacus.json --model gpt2-tiny --pipe 4 --batch 8 --schedule gpipe "
                               "--microbatches 4 --steps 2 " +
                               option,
                           {option + " needs --schedule 1f1b or envpipe, but the schedule is gpipe"});
}

}  // namespace
}  // namespace trireme::messages
