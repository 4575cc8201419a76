// Offloaded work: helper ranks of the team compute a fraction of a slow rank's matmuls. Steps become shorter,
// losses do not change, and no parameter moves permanently.
#include "messages/straggler_runs.hpp"

namespace trireme::messages {
namespace {

class Migrations : public Stragglers {
protected:
    // Returns the fraction of a rank's matmuls that helper ranks compute.
    static double offloaded_by(int rank, const json& decision) {
        double sum = 0;
        for (const json& each : decision.value("migrations", json::array())) {
            if (each.at("from") != rank) continue;
            for (const json& part : each.at("parts")) sum += part.get<double>() / 4;
        }
        return sum;
    }
};

TEST_F(Migrations, ChangeNoLossWhileRanksBecomeSlowAndRecover) {
    ASSERT_EQ(run("train --steps 100 " + std::string(of_model) + "--run-dir one").code, 0);
    for (const std::string by : {"tree", "direct"}) {
        const Outcome outcome =
            simulate(std::string(slow_options) + "--straggler migrate --look-every 5 --migrate-by " + by +
                     " --run-dir " + by);

        EXPECT_LE(max_relative_difference(losses(by), losses("one")), 1e-10);
        const std::vector<json> made = decisions(by);
        ASSERT_GE(made.size(), 4U);
        EXPECT_EQ(made.front().at("step"), 15U);
        EXPECT_GT(offloaded_by(1, made.front()), 0.5);
        EXPECT_EQ(offloaded_by(3, made.front()), 0);
        EXPECT_EQ(made.back().at("step"), 75U);
        EXPECT_FALSE(made.back().contains("migrations"));
        EXPECT_EQ(made.back().at("terms").at("moved_bytes"), 0);
        EXPECT_NE(outcome.out.find("no rank skips channels or offloads work"), std::string::npos);
    }
    simulate("--decisions tree/decisions.jsonl --run-dir again");
    EXPECT_EQ(losses("again"), losses("tree"));
}

TEST_F(Migrations, ShortenStepsAndEndWhenRanksRecover) {
    const std::string options = std::string(slow_options) + "--length fixed --run-dir ";
    simulate(options + "off", 80);
    const Outcome outcome = simulate(options + "migrate --straggler migrate --look-every 5", 80);

    EXPECT_NE(outcome.out.find("ranks 0,2,3 compute "), std::string::npos) << outcome.out;
    const std::vector<json> off = training_steps("off");
    const std::vector<json> steps = training_steps("migrate");
    for (const std::size_t step : {20U, 38U, 60U})
        EXPECT_LT(steps[step].at("seconds"), 0.85 * off[step].at("seconds").get<double>()) << step;
    for (const std::size_t step : {5U, 78U})
        EXPECT_NEAR(steps[step].at("seconds").get<double>(), off[step].at("seconds").get<double>(), 1e-9);
    const auto predicted_bytes = [&](const std::string& run_dir) {
        return json::parse(read(run_dir + "/summary.json")).at("memory_bytes").at("predicted").get<double>();
    };
    EXPECT_GT(predicted_bytes("migrate"), predicted_bytes("off"));
}

// The slow rank's stage waits for the other stage anyway.
TEST_F(Migrations, AreDeclinedWithAReasonIfStepsWouldNotGetShorter) {
    std::string model = of_model;
    model.replace(model.find("--layers 2"), 10, "--layers 4");

    const Outcome outcome =
        run("simulate --ranks 4 --cluster double.json --tensor 2 --pipe 2 --partition 2,4 --microbatches 4 "
            "--length fixed "
            "--slow rank=1,factor=1.5,steps=6:20 --straggler migrate --look-every 5 --steps 20 --run-dir run " +
            model);

    ASSERT_EQ(outcome.code, 0) << outcome.out << outcome.err;
    const std::string why =
        "no plan change: rank 1 is slow, but the policy finds no plan that shortens the steps";
    EXPECT_NE(outcome.out.find("step    15/20  " + why), std::string::npos) << outcome.out;
    EXPECT_EQ(outcome.out.find(why), outcome.out.rfind(why));
    EXPECT_NE(read("run/decisions.jsonl").find("\"no_change\":\"rank 1 is slow"), std::string::npos);
}

// A pipeline of two teams, with the fast kernels.
TEST_F(Migrations, ChangeNoLossInAPipelineInSinglePrecision) {
    std::string model = of_model;
    model.replace(model.find("--dtype f64 --device reference"), 30, "--dtype f32 --device cpu");
    ASSERT_EQ(run("train --steps 40 " + model + "--run-dir one").code, 0);
    for (const std::string schedule : {"1f1b", "zb-h1", "gpipe"}) {
        const Outcome outcome =
            run("simulate --ranks 4 --cluster double.json --tensor 2 --pipe 2 --microbatches 2 "
                "--slow rank=1,factor=4,steps=6:25 --straggler migrate --look-every 5 --steps 40 "
                "--schedule " +
                schedule + " --run-dir " + schedule + ' ' + model);

        ASSERT_EQ(outcome.code, 0) << outcome.err;
        EXPECT_LE(max_relative_difference(losses(schedule), losses("one")), 1e-5);
        const std::vector<json> made = decisions(schedule);
        ASSERT_GE(made.size(), 2U);
        for (const json& each : made[0].at("migrations")) {
            EXPECT_EQ(each.at("from"), 1);
            EXPECT_EQ(each.at("to"), 0);
        }
    }
}

// Stages compute with the weights of the step before, which are sent to the helper when they are used. Both
// runs drain at every look of the policy, so their losses are comparable.
TEST_F(Migrations, ChangeNoLossWithOverlappingSteps) {
    const std::string options =
        "simulate --ranks 4 --cluster double.json --tensor 2 --pipe 2 --microbatches 4 --schedule "
        "pipedream-2bw "
        "--steps 40 --tied off --straggler migrate --look-every 5 ";
    for (const std::string slow : {"--run-dir healthy ", "--slow rank=1,factor=4,steps=6:25 --run-dir slow "}) {
        const Outcome outcome = run(options + slow + of_model);
        ASSERT_EQ(outcome.code, 0) << outcome.err;
    }
    EXPECT_LE(max_relative_difference(losses("slow"), losses("healthy")), 1e-10);
    EXPECT_FALSE(std::filesystem::exists(path("healthy/decisions.jsonl")));
    EXPECT_GE(decisions("slow").size(), 2U);
}

// Channels that helper ranks have no time for are skipped. Steps are as short as with the better of the two
// policies alone.
TEST_F(Migrations, CombineWithSkippedChannelsInStepsThatAreAsShort) {
    std::string model = of_model;  // most of its time goes to matmuls of blocks
    for (const auto& [from, to] : {std::pair{"--layers 2", "--layers 4"}, std::pair{"--width 32", "--width 64"},
                                   std::pair{"--mlp-width 128", "--mlp-width 512"}})
        model.replace(model.find(from), std::string(from).size(), to);
    std::string ghosts = model;
    ghosts.replace(ghosts.find("--device reference"), 18, "--math off");
    const std::string line =
        "simulate --ranks 4 --cluster double.json --tensor 4 --length fixed --look-every 5 ";
    const std::string pruned = " --resize-limit 0.5";
    const std::string slow = "--slow rank=1,factor=6,steps=6:40,on=products ";
    for (const std::string straggler : {"resize", "migrate", "semi"})
        ASSERT_EQ(run(line + slow + ghosts + " --steps 50 --run-dir " + straggler + " --straggler " +
                      straggler + (straggler == "migrate" ? "" : pruned))
                      .code,
                  0);

    const auto seconds = [&](const std::string& folder) {
        return steps(folder)[20].at("seconds").get<double>();
    };
    EXPECT_LE(seconds("semi"), 1.05 * std::min(seconds("resize"), seconds("migrate")));
    const json semi = decisions("semi").front();
    EXPECT_GT(offloaded_by(1, semi), 0.1);
    EXPECT_EQ(semi.at("left_out")[0], 0);
    EXPECT_GT(semi.at("left_out")[1].get<double>() - offloaded_by(1, semi), 0.1);
    EXPECT_FALSE(decisions("semi").back().contains("left_out"));
    EXPECT_FALSE(decisions("semi").back().contains("migrations"));

    for (const std::string& way :
         {"--run-dir values " + slow, std::string("--run-dir again --decisions values/decisions.jsonl ")})
        ASSERT_EQ(run(line + way + model + " --steps 14 --straggler semi" + pruned).code, 0);
    EXPECT_EQ(losses("again"), losses("values"));
}

TEST_F(Migrations, MatchThoseOfGhostRuns) {
    const std::string options =
        std::string(slow_options) + "--look-every 5 --length fixed --straggler migrate --run-dir ";
    simulate(options + "values", 50);
    std::string line =
        "simulate --ranks 4 --cluster double.json --tensor 4 --steps 50 " + std::string(of_model);
    line.replace(line.find("--device reference"), 18, "--math off");

    const Outcome outcome = run(line + options + "ghosts");

    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const std::vector<json> made = decisions("ghosts");
    const std::vector<json> real = decisions("values");
    ASSERT_GE(made.size(), 2U);
    ASSERT_GE(real.size(), 2U);
    for (const auto& [ghost, other] :
         {std::pair{made.front(), real.front()}, std::pair{made.back(), real.back()}}) {
        EXPECT_EQ(ghost.at("step"), other.at("step"));
        for (int rank = 0; rank < 4; ++rank)
            EXPECT_NEAR(offloaded_by(rank, ghost), offloaded_by(rank, other), 0.05);
    }
    const std::vector<json> steps = training_steps("values");
    const std::vector<json> of_ghosts = this->steps("ghosts");
    ASSERT_EQ(steps.size(), of_ghosts.size());
    for (const std::size_t step : {20U, 38U})
        EXPECT_NEAR(of_ghosts[step].at("seconds").get<double>(), steps[step].at("seconds").get<double>(),
                    0.02 * steps[step].at("seconds").get<double>());
}

TEST_F(Migrations, ChangeNoLossInWallTime) {
    ASSERT_EQ(run("train --steps 40 " + std::string(of_model) + "--run-dir one").code, 0);
    for (std::size_t mpi = 0; mpi < mpi_libraries(); ++mpi) {
        const std::string folder = "two-" + std::to_string(mpi);

        const Outcome outcome =
            run("train --tensor 2 --slow rank=1,factor=30,steps=6:25 --straggler migrate "
                "--look-every 5 --steps 40 --run-dir " +
                    folder + ' ' + of_model,
                2, mpi);

        ASSERT_EQ(outcome.code, 0) << outcome.err;
        EXPECT_LE(max_relative_difference(losses(folder), losses("one")), 1e-10);
        EXPECT_FALSE(decisions(folder).empty());
    }
}

// Helpers bridge the time until a rank has been slow for long enough; then shares move.
TEST_F(Migrations, BridgeTheTimeUntilSharesMove) {
    ASSERT_EQ(run("train --steps 100 " + std::string(of_model) + "--run-dir one").code, 0);

    simulate(
        "--slow rank=1,factor=4,steps=11:50 --slow rank=3,factor=2.5,steps=71:80 --straggler uneven --bridge "
        "20 "
        "--look-every 5 --run-dir bridged");

    EXPECT_LE(max_relative_difference(losses("bridged"), losses("one")), 1e-10);
    std::vector<std::size_t> offloaded, moved;  // steps of the decisions
    for (const json& decision : decisions("bridged")) {
        (decision.contains("migrations") ? offloaded : moved).push_back(decision.at("step"));
        if (!decision.contains("migrations")) continue;
        EXPECT_EQ(decision.at("terms").at("moved_bytes"), 0);
    }
    EXPECT_EQ(offloaded.front(), 15U);
    // Rank 1 gets a smaller share, and later an equal one again. Rank 3 is only helped.
    EXPECT_EQ(moved, (std::vector<std::size_t>{35, 55, 85}));
    EXPECT_EQ(decisions("bridged").back().at("terms").at("moved_bytes"), 0);
}

// The resumed run follows the decision of step 3, which precedes its first step.
TEST_F(Migrations, ContinueInAResumedRun) {
    write("decisions.jsonl", R"({"step": 3, "layout": {"layers": 7, "stages": [{"layers": [0, 7], "replicas": )"
                             R"([{"ranks": [0, 1, 2, 3]}]}]}, "migrations": [{"from": 1, "to": 0, )"
                             R"("parts": [0.5, 0.5, 0.5, 0.5]}]})"
                             "\n");
    const std::string options = "--length fixed --decisions decisions.jsonl ";
    simulate(options + "--run-dir whole", 12);
    simulate(options + "--run-dir first --checkpoint-every 6", 7);
    simulate(options + "--run-dir second --resume first/checkpoints/step-6", 12);

    const std::vector<json> whole = training_steps("whole");
    const std::vector<json> second = training_steps("second");
    ASSERT_EQ(second.size(), 6U);
    EXPECT_LT(whole[7].at("products_s")[1], 0.8 * whole[2].at("products_s")[1].get<double>());
    for (std::size_t step = 0; step < second.size(); ++step) {
        EXPECT_NEAR(second[step].at("products_s")[1].get<double>(),
                    whole[step + 6].at("products_s")[1].get<double>(), 1e-9);
    }
}

// Rank 3 holds no layer, so it offloads no work.
TEST_F(Migrations, GiveNoWorkToIdleRanks) {
    write("decisions.jsonl", R"({"step": 3, "layout": {"layers": 7, "stages": [{"layers": [0, 7], "replicas": )"
                             R"([{"ranks": [0, 1, 2], "shares": [3, 3, 2]}]}], "idle": [3]}, "migrations": )"
                             R"([{"from": 1, "to": 0, "parts": [0.5, 0.5, 0.5, 0.5]}]})"
                             "\n");
    simulate("--run-dir even", 8);
    simulate("--decisions decisions.jsonl --run-dir idle", 8);

    EXPECT_LT(max_relative_difference(losses("idle"), losses("even")), 1e-10);
    EXPECT_EQ(training_steps("idle").back().at("products_s")[3], 0);
}

// Decisions that a user wrote by hand.
TEST_F(Migrations, AreRejectedIfImpossible) {
    const auto refusal = [&](const std::string& migrations) {
        write("decisions.jsonl",
              R"({"step": 2, "layout": {"layers": 7, "stages": [{"layers": [0, 7], "replicas": )"
              R"([{"ranks": [0, 1]}]}]}, "migrations": [)" +
                  migrations + "]}");
        const Outcome refused =
            run("train --tensor 2 --steps 4 --decisions decisions.jsonl --run-dir run " + std::string(of_model),
                2, 0);
        EXPECT_EQ(refused.code, 2);
        return refused.err;
    };

    EXPECT_NE(refusal(R"({"from": 0, "to": 0, "parts": [0.5, 0, 0, 0]})")
                  .find("rank 0 cannot compute a part of rank 0's matmuls, because a migration needs two ranks "
                        "of one tensor-parallel group"),
              std::string::npos);
    EXPECT_NE(refusal(R"({"from": 0, "to": 2, "parts": [0.5, 0, 0, 0]})")
                  .find("\"migrations\" names rank 2, but the job has ranks 0 to 1"),
              std::string::npos);
    EXPECT_NE(
        refusal(
            R"({"from": 0, "to": 1, "parts": [0.5, 0, 0, 0]}, {"from": 1, "to": 0, "parts": [0, 0, 0, 0.5]})")
            .find("a rank may either offload work or be a helper rank"),
        std::string::npos);
    EXPECT_NE(
        refusal(
            R"({"from": 0, "to": 1, "parts": [0.5, 0, 0, 0]}, {"from": 0, "to": 1, "parts": [0.5, 0, 0, 0]})")
            .find("has several entries from rank 0 to rank 1; write one entry"),
        std::string::npos);
}

TEST_F(Migrations, RejectOptionsWithoutEffect) {
    const auto refusal = [&](const std::string& options) {
        const Outcome refused =
            run("train --tensor 2 --steps 4 --run-dir run " + options + ' ' + std::string(of_model), 2, 0);
        EXPECT_EQ(refused.code, 2) << options;
        return refused.err;
    };

    EXPECT_NE(refusal("--straggler migrate --bridge 10").find("--bridge has no effect"), std::string::npos);
    EXPECT_NE(refusal("--straggler resize --semi-slack 0.1").find("set --straggler semi or drop"),
              std::string::npos);
    EXPECT_NE(refusal("--straggler uneven --migrate-by direct").find("--migrate-by has no effect"),
              std::string::npos);
}

}  // namespace
}  // namespace trireme::messages
