// Ranks that become slow and recover, and the policies that react. Steps become shorter, and losses do not
// change, unless channels are skipped.
#include "messages/straggler_runs.hpp"

namespace trireme::messages {
namespace {

using Shares = std::vector<std::size_t>;

// Returns the shares of the only team; empty if they are even.
Shares read_shares(const json& decision) {
    return decision.at("layout").at("stages")[0].at("replicas")[0].value("shares", Shares{});
}

TEST_F(Stragglers, GetSmallerSharesWhileSlowAndChangeNoLoss) {
    ASSERT_EQ(run("train --steps 100 " + std::string(of_model) + "--run-dir one").code, 0);

    simulate(std::string(slow_options) + "--straggler uneven --look-every 5 --run-dir uneven");

    EXPECT_LE(max_relative_difference(losses("uneven"), losses("one")), 1e-10);
    const std::vector<json> made = decisions("uneven");
    ASSERT_EQ(made.size(), 4U);
    EXPECT_EQ(read_shares(made[0]), (Shares{4, 1, 4, 4}));
    EXPECT_EQ(made[0].at("step"), 15U);
    EXPECT_EQ(read_shares(made[1]), (Shares{20, 5, 20, 8}));
    EXPECT_EQ(made[1].at("step"), 35U);
    EXPECT_EQ(read_shares(made[2]), (Shares{5, 5, 5, 2}));
    EXPECT_EQ(made[2].at("step"), 45U);
    EXPECT_EQ(read_shares(made[3]), Shares{});
    EXPECT_EQ(made[3].at("step"), 75U);

    simulate("--decisions uneven/decisions.jsonl --run-dir again");
    EXPECT_EQ(losses("again"), losses("uneven"));
}

TEST_F(Stragglers, AreReportedAndLengthenStepsWithoutAPolicy) {
    const Outcome outcome = simulate(std::string(slow_options) + "--run-dir off --length fixed", 75);
    simulate(std::string(slow_options) + "--straggler uneven --look-every 5 --run-dir uneven --length fixed",
             75);

    for (const char* const line :
         {"step    13/75  rank 1 on node-0-device-1, abacus, is slow: it takes 4.0 times as long "
          "as others\n",
          "step    43/75  rank 1 on node-0-device-1, abacus, is as fast as others again\n"})
        EXPECT_NE(outcome.out.find(line), std::string::npos) << outcome.out;
    const std::vector<json> off = training_steps("off");
    EXPECT_FALSE(off[11].contains("slowness"));
    EXPECT_EQ(off[12].at("slowness")[0], 1);
    EXPECT_NEAR(off[12].at("slowness")[1].get<double>(), 4, 1e-6);
    EXPECT_NEAR(off[20].at("products_s")[1].get<double>(), 4 * off[20].at("products_s")[0].get<double>(), 1e-9);
    EXPECT_GT(off[20].at("wait_s")[0], off[20].at("wait_s")[1]);
    const std::vector<json> uneven = training_steps("uneven");
    for (const std::size_t step : {20U, 30U, 38U, 50U, 60U})
        EXPECT_LT(uneven[step].at("seconds"), 0.8 * off[step].at("seconds").get<double>()) << step;
    EXPECT_NEAR(uneven[5].at("seconds").get<double>(), off[5].at("seconds").get<double>(), 1e-9);
}

// Ghost runs make the same observations and decisions as runs with values.
TEST_F(Stragglers, AreTreatedTheSameInGhostRuns) {
    for (const std::string way : {"uneven", "resize"}) {
        const std::string options = std::string(slow_options) + "--look-every 5 --length fixed --straggler " +
                                    way + " --run-dir " + way;
        simulate(options, 50);
        std::string line =
            "simulate --ranks 4 --cluster double.json --tensor 4 --steps 50 " + std::string(of_model);
        line.replace(line.find("--device reference"), 18, "--math off");

        const Outcome outcome = run(line + options + "-ghosts");

        ASSERT_EQ(outcome.code, 0) << outcome.err;
        const std::vector<json> made = decisions(way + "-ghosts");
        const std::vector<json> real = decisions(way);
        EXPECT_EQ(made.size(), 3U);
        ASSERT_EQ(made.size(), real.size());
        for (std::size_t d = 0; d < made.size(); ++d) {
            for (const char* const field : {"step", "layout", "reason"})
                EXPECT_EQ(made[d].at(field), real[d].at(field));
            const auto skipped = made[d].value("left_out", std::vector<double>{});
            const auto of_real = real[d].value("left_out", std::vector<double>{});
            ASSERT_EQ(skipped.size(), of_real.size());
            for (std::size_t r = 0; r < skipped.size(); ++r) EXPECT_NEAR(skipped[r], of_real[r], 1e-9);
            for (const char* const term : {"moved_bytes", "kept_bytes"})
                EXPECT_EQ(made[d].at("terms").at(term), real[d].at("terms").at(term));
        }
    }
}

TEST_F(Stragglers, AreTreatedTheSameInReplayedGhostRuns) {
    std::string line =
        "simulate --ranks 4 --cluster double.json --tensor 4 --steps 50 " + std::string(of_model);
    line.replace(line.find("--device reference"), 18, "--math off");
    line += std::string(slow_options) + "--length fixed ";
    ASSERT_EQ(run(line + "--straggler uneven --look-every 5 --run-dir run").code, 0);

    const Outcome outcome = run(line + "--decisions run/decisions.jsonl --run-dir replayed");

    ASSERT_EQ(outcome.code, 0) << outcome.err;
    ASSERT_EQ(decisions("replayed").size(), 3U);
    for (std::size_t d = 0; d < 3; ++d)
        EXPECT_EQ(decisions("replayed")[d].at("to"), decisions("run")[d].at("to"));
    const std::vector<json> replayed = each(steps("replayed"), "seconds");
    const std::vector<json> seconds = each(steps("run"), "seconds");
    ASSERT_EQ(replayed.size(), seconds.size());
    constexpr double exchanged_by_policy = 1e-5;  // fraction of a step in which a policy sends 512 bytes
    for (std::size_t step = 0; step < seconds.size(); ++step)
        EXPECT_NEAR(replayed[step].get<double>(), seconds[step].get<double>(),
                    exchanged_by_policy * seconds[step].get<double>());
}

// Losses do not change while no rank is slow. Then steps become shorter and losses differ, until the ranks have
// recovered.
TEST_F(Stragglers, SkipChannelsThatTheyHaveNoTimeFor) {
    const std::string options =
        "--slow rank=1,factor=4,steps=11:40,on=products --slow rank=3,factor=2.5,steps=31:70,on=products "
        "--length fixed --eval-every 25 ";
    simulate(options + "--run-dir off", 80);
    const Outcome outcome =
        simulate(options + "--straggler resize --look-every 5 --resize-fill average --run-dir resize", 80);

    const std::vector<double> whole = losses("off");
    const std::vector<double> resized = losses("resize");
    EXPECT_TRUE(std::equal(whole.begin(), whole.begin() + 15, resized.begin()));
    EXPECT_NE(whole[16], resized[16]);
    const std::vector<json> made = decisions("resize");
    ASSERT_EQ(made.size(), 4U);
    EXPECT_GE(made[0].at("left_out")[1].get<double>(),
              0.75);  // its part of the head is slow, too, but skips no channel
    EXPECT_EQ(made[0].at("left_out")[0], 0);
    EXPECT_GE(made[1].at("left_out")[3].get<double>(), 0.6);
    EXPECT_LT(made[1].at("left_out")[3], made[1].at("left_out")[1]);
    EXPECT_EQ(made[2].at("left_out")[1], 0);
    EXPECT_FALSE(made[3].contains("left_out"));
    EXPECT_NE(outcome.out.find("rank 1 skips 90 % of its matmuls"), std::string::npos) << outcome.out;
    const std::vector<json> off = training_steps("off");
    const std::vector<json> steps = training_steps("resize");
    for (const std::size_t step : {20U, 38U, 60U})
        EXPECT_LT(steps[step].at("seconds"), 0.6 * off[step].at("seconds").get<double>()) << step;
    EXPECT_NEAR(steps[78].at("seconds").get<double>(), off[78].at("seconds").get<double>(), 1e-9);

    simulate(
        "--length fixed --eval-every 25 --straggler resize --look-every 5 --resize-fill average --decisions "
        "resize/decisions.jsonl --run-dir again",
        80);
    EXPECT_EQ(losses("again"), resized);
}

// In wall time the decisions and their steps are not predictable.
TEST_F(Stragglers, ChangeNoLossInWallTime) {
    ASSERT_EQ(run("train --steps 40 " + std::string(of_model) + "--run-dir one").code, 0);
    for (std::size_t mpi = 0; mpi < mpi_libraries(); ++mpi) {
        const std::string folder = "two-" + std::to_string(mpi);

        const Outcome outcome =
            run("train --tensor 2 --slow rank=1,factor=30,steps=6:25 --straggler uneven "
                "--look-every 5 --steps 40 --run-dir " +
                    folder + " " + of_model,
                2, mpi);

        ASSERT_EQ(outcome.code, 0) << outcome.err;
        EXPECT_LE(max_relative_difference(losses(folder), losses("one")), 1e-10);
        EXPECT_FALSE(decisions(folder).empty());
    }
}

// Runs with the fast kernels, whose order of summation depends on the shape.
TEST_F(Stragglers, ChangeNoLossInSinglePrecision) {
    std::string model = of_model;
    model.replace(model.find("--dtype f64 --device reference"), 30, "--dtype f32 --device cpu");
    ASSERT_EQ(run("train --steps 40 " + model + "--run-dir one").code, 0);

    const Outcome outcome =
        run("simulate --ranks 4 --cluster double.json --tensor 2 --pipe 2 --microbatches 2 "
            "--schedule zb-h1 --slow rank=1,factor=4,steps=6:25 --straggler uneven --look-every 5 "
            "--steps 40 --run-dir four " +
            model);

    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_LE(max_relative_difference(losses("four"), losses("one")), 1e-5);
    const std::vector<json> made = decisions("four");
    ASSERT_EQ(made.size(), 2U);
    const json& stages = made[0].at("layout").at("stages");
    EXPECT_EQ(stages[0].at("replicas")[0].at("shares"), (Shares{4, 1}));
    EXPECT_FALSE(stages[1].at("replicas")[0].contains("shares"));
}

TEST_F(Stragglers, CauseNoPlanChangeThatDoesNotPayOff) {
    json cluster = json::parse(read("double.json"));
    cluster["device"].merge_patch({{"flops", {{"f64", 3e11}}}, {"launch", 1e-7}, {"bandwidth", 1e12}});
    write("double.json", cluster.dump());

    simulate(std::string(slow_options) + "--straggler uneven --look-every 5 --run-dir patient", 40);
    simulate(std::string(slow_options) + "--straggler uneven --look-every 5 --horizon 1 --run-dir hasty", 40);

    EXPECT_FALSE(decisions("patient").empty());
    const std::string declined = read("hasty/decisions.jsonl");
    EXPECT_TRUE(has(declined, R"("no_change":"the best plan would save )")) << declined;
    EXPECT_TRUE(has(declined, " s in 1 step, but moving the state would take ")) << declined;
    EXPECT_FALSE(has(declined, "layout")) << declined;
}

TEST_F(Stragglers, KeepThePlanIfMemoryAllowsNoOther) {
    simulate("--run-dir measured", 1);
    const std::size_t most = json::parse(read("measured/summary.json")).at("memory_bytes").at("predicted");

    const Outcome outcome = simulate(std::string(slow_options) + "--straggler uneven --memory-limit " +
                                         std::to_string(most) + " --run-dir little",
                                     35);

    const std::string notice = "no plan change: policy uneven: ";
    const std::size_t first = outcome.out.find(notice);
    EXPECT_NE(first, std::string::npos) << outcome.out;
    EXPECT_EQ(outcome.out.find(notice, first + 1), std::string::npos) << "printed twice\n" << outcome.out;
    EXPECT_TRUE(has(read("little/decisions.jsonl"), R"("no_change":"policy uneven: )"));
    EXPECT_FALSE(has(read("little/decisions.jsonl"), "layout"));
}

// The decision applies after step 7, where the policy does not look.
TEST_F(Stragglers, SkipChannelsFromTheStepOfADecision) {
    const std::string options = "--length fixed --straggler resize --look-every 50 --run-dir ";
    write("decisions.jsonl", R"({"step": 7, "left_out": [0, 0.5, 0, 0], "layout": {"layers": 7, "stages": [)"
                             R"({"layers": [0, 7], "replicas": [{"ranks": [0, 1, 2, 3]}]}]}})");

    simulate(options + "whole", 12);
    simulate(options + "resized --decisions decisions.jsonl", 12);

    const std::vector<json> whole = training_steps("whole");
    const std::vector<json> resized = training_steps("resized");
    for (std::size_t step = 0; step < 12; ++step) {
        const double before = whole[step].at("products_s")[1];
        const double after = resized[step].at("products_s")[1];
        if (step < 7) {
            EXPECT_NEAR(after, before, 1e-12) << step;
        } else {
            EXPECT_LT(after, 0.8 * before) << step;
        }
    }
}

TEST_F(Stragglers, NeedAPolicyThatFitsTheRun) {
    const auto words = [&](const std::string& options, int ranks) {
        const Outcome refused = run("train --corpus corpus.h5 --steps 4 --run-dir run " + options, ranks, 0);
        EXPECT_EQ(refused.code, 2) << options;
        return refused.err;
    };

    EXPECT_NE(
        words("--straggler resize --data 2", 2)
            .find(
                "trireme: --straggler resize needs ranks that share layers, but here each rank has its "
                "own layers; use --tensor, or --straggler uneven, which also moves layers and micro-batches\n"),
        std::string::npos);
    EXPECT_NE(words("--straggler uneven --tensor 2 --pipe 2 --microbatches 4 --schedule pipedream --tied off "
                    "--move overlap",
                    4)
                  .find("keeps micro-batches in flight across steps"),
              std::string::npos);
    EXPECT_NE(words("--straggler resize --resize-decay kept --tensor 2 --data 2", 4)
                  .find("--resize-decay kept would make the replicas diverge"),
              std::string::npos);
    EXPECT_NE(run("simulate --ranks 2 --cluster double.json --math off --tensor 2 --model gpt2-tiny --steps 2 "
                  "--straggler uneven --move twins")
                  .err.find("--move does not work with --math off"),
              std::string::npos);
}

TEST_F(Stragglers, HaveTheirOptionsChecked) {
    EXPECT_EQ(run("train --corpus corpus.h5 --straggler unevn").code, 2);
    EXPECT_NE(run("train --corpus corpus.h5 --straggler unevn").err.find("did you mean uneven"),
              std::string::npos);
    EXPECT_EQ(run("train --corpus corpus.h5 --look-every 0").code, 2);
    EXPECT_EQ(run("train --corpus corpus.h5 --resize-limit 1").code, 2);
    write("decisions.jsonl",
          R"({"step": 2, "left_out": [0.5], "layout": {"layers": 11, "stages": [{"layers": [0, 11],)"
          R"( "replicas": [{"ranks": [0]}]}]}})");
    const Outcome refused = run("train --corpus corpus.h5 --steps 4 --decisions decisions.jsonl --run-dir run");
    EXPECT_EQ(refused.code, 2);
    EXPECT_NE(refused.err.find("trireme: --decisions decisions.jsonl, step 2: a rank would skip the fraction "
                               "0.5 of a matmul, but the limit is 0; use --straggler resize or semi with a "
                               "larger --resize-limit\n"),
              std::string::npos)
        << refused.err;
}

}  // namespace
}  // namespace trireme::messages
