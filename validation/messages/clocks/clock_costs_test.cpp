// The sweep of --clock-costs in simulated runs, and the file that it writes.
#include "messages/simulated_runs.hpp"

namespace trireme::messages {
namespace {

class ClockCosts : public Simulate {
protected:
    // A sweep measures four of the clocks.
    void SetUp() override {
        Simulate::SetUp();
        write("abacus.json", finely_clocked_abacus().dump());
    }

    static constexpr const char* four_stages = "--cluster abacus.json --layers 4 --pipe 4 --batch 16 ";

    static std::string options(const std::string& more, const std::string& shape = four_stages) {
        return "--model gpt2-tiny --width 32 --heads 4 --mlp-width 64 --microbatches 8 --max-length 32 "
               "--schedule envpipe --energy envelope " +
               shape + more;
    }

    Outcome simulate(const std::string& more) const {
        const Outcome outcome =
            run("simulate --ranks 4 --corpus corpus.h5 --length fixed --threads 1 --quiet " + options(more));
        EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
        return outcome;
    }

    std::vector<json> sweep_decisions(const std::string& folder) const {
        std::vector<json> made = decisions(folder);
        std::erase_if(made, [](const json& line) { return line.value("policy", "") != "sweep"; });
        return made;
    }

    void expect_close(const std::string& folder, const std::string& other, const char* field) const {
        const double one = steps(folder).back().at(field), two = steps(other).back().at(field);
        EXPECT_NEAR(one / two, 1, 0.01) << folder << ' ' << other << ' ' << field;
    }
};

TEST_F(ClockCosts, OfASweepLeadToTheClocksOfKnownCosts) {
    for (const std::string rule : {"default", "balanced"}) {
        const std::string more = "--steps 70 --reconfigure " + rule + " --run-dir " + rule;
        simulate(more + "-auto");
        simulate(more + "-sweep --clock-costs sweep");
        simulate(more + "-file --clock-costs " + rule + "-sweep/clock_costs.json");

        for (const char* const field : {"seconds", "energy_j"})
            for (const char* const source : {"-sweep", "-file"})
                expect_close(rule + source, rule + "-auto", field);
        EXPECT_EQ(list(rule + "-sweep", "loss"), list(rule + "-auto", "loss"));
        const std::vector<json> sweep = sweep_decisions(rule + "-sweep");
        ASSERT_EQ(sweep.size(), 4U);
        EXPECT_EQ(sweep.front().at("reason"), "measures costs at 810 MHz");
        EXPECT_EQ(sweep.back().at("reason"), "the costs at 4 clocks are measured");
        EXPECT_EQ(sweep.back().at("step"), 24);
        EXPECT_EQ(sweep.back().at("terms").at("moved_bytes"), 0);
    }
    const json plan = planned(options("--reconfigure balanced --clock-costs balanced-sweep/clock_costs.json"));
    EXPECT_NEAR(plan.at("prediction").at("energy_j").get<double>() /
                    steps("balanced-sweep").back().at("energy_j").get<double>(),
                1, 0.05);
}

// The resumed run continues with the clock at which the other run was interrupted.
TEST_F(ClockCosts, OfASweepSurviveAResumeAndAReplay) {
    const std::string more = "--steps 50 --reconfigure balanced --clock-costs sweep ";
    simulate(more + "--checkpoint-every 15 --run-dir run");
    simulate("--resume run/checkpoints/step-15 --run-dir middle");
    simulate("--resume run/checkpoints/step-30 --run-dir end");
    simulate(more + "--decisions run/decisions.jsonl --run-dir again");

    const std::vector<json> losses = list("run", "loss"), plans = list("run", "plan");
    EXPECT_EQ(list("again", "loss"), losses);
    EXPECT_EQ(list("again", "plan"), plans);
    EXPECT_EQ(list("middle", "loss"), std::vector<json>(losses.begin() + 15, losses.end()));
    EXPECT_EQ(sweep_decisions("middle").front().at("step"), 21);
    EXPECT_EQ(sweep_decisions("middle").size(), 2U);
    EXPECT_TRUE(sweep_decisions("end").empty());
    expect_close("middle", "run", "energy_j");
    expect_close("end", "run", "energy_j");
}

// The costs do not contain the slowness, so that the clocks are those of a healthy run after the recovery.
TEST_F(ClockCosts, AreThoseOfHealthyRanks) {
    simulate("--steps 60 --clock-costs sweep --run-dir healthy");
    simulate("--steps 60 --clock-costs sweep --slow rank=1,factor=2,steps=1:40 --run-dir slow");

    expect_close("slow", "healthy", "energy_j");
    expect_close("slow", "healthy", "seconds");
    const json slow = json::parse(read("slow/clock_costs.json")).at("replicas").at(1).at("measured");
    const json healthy = json::parse(read("healthy/clock_costs.json")).at("replicas").at(1).at("measured");
    ASSERT_EQ(slow.size(), healthy.size());
    for (std::size_t clock = 0; clock < slow.size(); ++clock) {
        const double one = slow[clock]["seconds"]["forward"], other = healthy[clock]["seconds"]["forward"];
        EXPECT_NEAR(one / other, 1, 0.01) << slow[clock];
    }
}

// The costs belong to the layers of each stage.
TEST_F(ClockCosts, AreMeasuredAnewForAnotherLayout) {
    simulate(
        "--steps 80 --clock-costs sweep --straggler uneven --slow rank=1,factor=3,steps=8:80 --run-dir run");

    std::size_t last_layout = 0;
    for (const json& line : decisions("run"))
        if (line.value("policy", "") == "uneven") last_layout = line.at("step");
    ASSERT_GT(last_layout, 0U);
    EXPECT_EQ(sweep_decisions("run").back().at("reason"), "the costs at 4 clocks are measured");
    EXPECT_GE(sweep_decisions("run").back().at("step"), last_layout + 24);
    EXPECT_LT(steps("run").back().at("energy_j"), steps("run").at(last_layout + 2).at("energy_j"));
}

TEST_F(ClockCosts, AreMeasuredWithReplicasAndManyRanks) {
    json many = finely_clocked_abacus();
    many["nodes"] = 40;
    write("abacus.json", many.dump());
    const std::string more = "--math off --steps 30 --quiet --ranks 80 --clock-costs ";
    for (const std::string source : {"auto", "sweep"}) {
        const Outcome outcome =
            run("simulate " + options(more + source + " --run-dir " + source,
                                      "--cluster abacus.json --layers 4 --pipe 4 --data 20 --batch 320 "));
        ASSERT_EQ(outcome.code, 0) << outcome.err;
    }

    expect_close("sweep", "auto", "energy_j");
    EXPECT_EQ(json::parse(read("sweep/clock_costs.json")).at("replicas").size(), 4U);
}

// Devices of the slower kind are no slow ranks: their costs are as they were measured.
TEST_F(ClockCosts, AreThoseOfEachKindOfDevice) {
    const json fast = finely_clocked_abacus();
    json mixed{{"schema", 1}, {"name", "mixed"}, {"source", "made up"}, {"between", fast.at("between")}};
    for (const double speed : {1.0, 0.6}) {
        json group{{"device", fast.at("device")},
                   {"devices_per_node", 2},
                   {"nodes", 1},
                   {"inside", fast.at("inside")}};
        group["device"]["name"] = speed == 1 ? "fast" : "slow";
        for (json& rate : group["device"]["flops"]) rate = rate.get<double>() * speed;
        mixed["groups"].push_back(group);
    }
    write("abacus.json", mixed.dump());
    simulate("--steps 70 --reconfigure balanced --network free --run-dir auto");
    simulate("--steps 70 --reconfigure balanced --network free --clock-costs sweep --run-dir sweep");

    EXPECT_LE(sweep_decisions("sweep").back().at("step"), 32);
    expect_close("sweep", "auto", "energy_j");
    expect_close("sweep", "auto", "seconds");
    const json before = json::parse(read("auto/summary.json")).at("step_j").at("before_clocks");
    EXPECT_NEAR(before.get<double>() / steps("sweep").at(2).at("energy_j").get<double>(), 1, 0.02);
}

TEST_F(ClockCosts, AreNotMeasuredIfTheRunIsTooShortOrReplayed) {
    simulate("--steps 25 --clock-costs sweep --slow rank=1,factor=2,steps=19:25 --run-dir run");
    EXPECT_NE(decisions("run").back().at("no_change").get<std::string>().find("before the costs at all clocks"),
              std::string::npos);

    json layout = decisions("run").front().at("layout");
    write("hand.jsonl", json{{"step", 2}, {"layout", layout}}.dump() + "\n");
    expect_refusal(
        "simulate --ranks 4 --corpus corpus.h5 --length fixed --steps 40 --decisions hand.jsonl " +
            options("--clock-costs sweep"),
        {"--decisions hand.jsonl has no \"clocks\", and a run with recorded decisions measures no costs"});
}

TEST_F(ClockCosts, AreRefusedForOtherRuns) {
    simulate("--steps 25 --clock-costs sweep --run-dir run");
    const std::string file = "--clock-costs run/clock_costs.json ";
    const auto expect_both = [&](const std::string& more, const std::string& sentence,
                                 const std::string& shape = four_stages) {
        for (const std::string command : {"plan ", "simulate --math off --steps 2 --ranks 4 "})
            expect_refusal(command + options(more, shape), {sentence});
    };

    expect_both(
        file,
        "--clock-costs run/clock_costs.json has no costs of stage 0 with 1 layer from layer 0 on 1 rank per "
        "replica; measure again with --clock-costs sweep",
        "--cluster abacus.json --layers 4 --pipe 4 --batch 16 --partition 1,2,2,1 ");
    expect_both(
        file,
        "--clock-costs run/clock_costs.json has the costs of 4 stages, but the plan has 2; measure again "
        "with --clock-costs sweep",
        "--cluster abacus.json --layers 4 --pipe 2 --data 2 --batch 32 ");
    expect_both(file, "--clock-costs run/clock_costs.json was measured with a model of ",
                "--cluster abacus.json --layers 4 --pipe 4 --batch 16 --vocabulary 300 ");
    expect_both(file + "--cost F=1",
                "--clock-costs run/clock_costs.json and --cost both name the costs of passes");
    json other = finely_clocked_abacus();
    other["device"]["name"] = "slate";
    write("other.json", other.dump());
    expect_both(file,
                "--clock-costs run/clock_costs.json was measured on abacus, but the device of rank 0 is slate",
                "--cluster other.json --layers 4 --pipe 4 --batch 16 ");
    other = finely_clocked_abacus();
    other["device"]["clocks"].erase(3);
    write("other.json", other.dump());
    expect_both(
        file,
        "--clock-costs run/clock_costs.json lists other clocks of abacus than those of the device of rank 0",
        "--cluster other.json --layers 4 --pipe 4 --batch 16 ");
    expect_both(
        file,
        "--clock-costs run/clock_costs.json was measured with micro-batches of up to 64 tokens, but this run "
        "has up to 128",
        "--cluster abacus.json --layers 4 --pipe 4 --batch 32 ");
    expect_both(
        file + "--recompute full",
        "--clock-costs run/clock_costs.json was measured with --recompute none, but this plan has full");
    expect_both("--clock-costs swep",
                "--clock-costs swep is neither auto nor sweep, and there is no such file");
    json costs = json::parse(read("run/clock_costs.json"));
    costs["replicas"][1]["measured"][0]["seconds"]["forward"] = 0;
    write("zero.json", costs.dump());
    expect_both("--clock-costs zero.json",
                "zero.json: replicas[1].measured[0].seconds.forward is 0; it must be above 0");

    expect_refusal("plan " + options("--clock-costs sweep"), {"`trireme plan` measures nothing"});
    expect_refusal(
        "simulate --math off --ranks 4 --steps 24 " + options("--clock-costs sweep"),
        {"--energy envelope measures 4 clocks in the first 24 steps, but the run has only 24 steps"});
    expect_refusal(
        "simulate --ranks 4 --corpus corpus.h5 --steps 40 --cluster abacus.json --layers 4 --pipe 4 "
        "--batch 16 --microbatches 4 --model gpt2-tiny --schedule pipedream --tied off --on-nan skip --energy "
        "uniform "
        "--clock-costs sweep",
        {"with --on-nan skip, schedule pipedream may skip updates of single stages"});
    expect_refusal("plan --cluster abacus.json --clock-costs sweep",
                   {"--clock-costs", "--energy uniform or envelope"});
}

}  // namespace
}  // namespace trireme::messages
