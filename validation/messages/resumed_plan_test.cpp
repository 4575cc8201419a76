// Runs that resume from checkpoints of runs whose plan had changed since the start.
#include "messages/straggler_runs.hpp"

namespace trireme::messages {
namespace {

class ResumedPlan : public Stragglers {
protected:
    static constexpr const char* slow = "--slow rank=1,factor=4,steps=6:31,on=products --length fixed ";

    // Returns the seconds of rank 1's matmuls in a step, counted from 0.
    double slow_matmuls(const std::string& folder, std::size_t step) const {
        return training_steps(folder).at(step).at("products_s")[1];
    }

    std::vector<double> losses_from(const std::string& folder, std::size_t step) const {
        const std::vector<double> all = losses(folder);
        return {all.begin() + static_cast<std::ptrdiff_t>(step), all.end()};
    }

    // Expects that the run in `folder` begins in the plan that the run in `from` has after `step` steps.
    void expect_resumes(const Outcome& outcome, const std::string& folder, const std::string& from,
                        std::size_t step) const {
        EXPECT_NE(outcome.out.find("\nplan      this run continues with "), std::string::npos) << outcome.out;
        EXPECT_LT(slow_matmuls(folder, 0), 0.8 * slow_matmuls(from, 9));
        for (std::size_t s = 0; s < 4; ++s) {
            EXPECT_NEAR(slow_matmuls(folder, s), slow_matmuls(from, step + s), 1e-9) << s;
            EXPECT_EQ(training_steps(folder)[s].at("plan"), training_steps(from)[step + s].at("plan")) << s;
        }
    }

    // Expects the same losses from runs that resume after step 18, and after step 20, where the policy looks.
    void expect_same_losses(const std::string& options, const std::string& model) const {
        const auto simulate = [&](const std::string& others) {
            const Outcome outcome =
                run("simulate --ranks 4 --cluster double.json --tensor 4 --steps 36 --look-every 5 " +
                    std::string(slow) + model + options + others);
            ASSERT_EQ(outcome.code, 0) << outcome.err;
        };
        for (const char* const folder : {"whole", "between", "at"}) std::filesystem::remove_all(path(folder));
        simulate("--run-dir whole --checkpoint-every 2 ");
        simulate("--run-dir between --resume whole/checkpoints/step-18");
        simulate("--run-dir at --resume whole/checkpoints/step-20");

        EXPECT_EQ(decisions("whole").size(), 2U);
        EXPECT_EQ(losses("between"), losses_from("whole", 18)) << options;
        EXPECT_EQ(losses("at"), losses_from("whole", 20)) << options;
    }
};

// At the next look, two steps after the start, the resumed run still considers ranks as slow as before. A third
// run resumes from the second one's checkpoint. Once the rank has recovered, shares are even again, as the
// options say.
TEST_F(ResumedPlan, KeepsUnevenShares) {
    const std::string options = std::string(slow) + "--straggler uneven --look-every 5 --checkpoint-every 9 ";
    simulate(options + "--run-dir whole", 45);

    const Outcome second = simulate(options + "--run-dir second --resume whole/checkpoints/step-18", 45);
    const Outcome third = simulate(options + "--run-dir third --resume second/checkpoints/step-27", 45);

    expect_resumes(second, "second", "whole", 18);
    expect_resumes(third, "third", "whole", 27);
    EXPECT_LE(max_relative_difference(losses("second"), losses_from("whole", 18)), 1e-10);
    EXPECT_LE(max_relative_difference(losses("third"), losses_from("whole", 27)), 1e-10);
    ASSERT_EQ(decisions("whole").size(), 2U);
    for (const char* const folder : {"second", "third"}) {
        ASSERT_EQ(decisions(folder).size(), 1U);
        EXPECT_EQ(decisions(folder)[0].at("layout"), decisions("whole")[1].at("layout"));
    }
}

// This also applies to layouts without tensor parallelism: replicas have fewer turns, stages fewer layers.
TEST_F(ResumedPlan, KeepsUnevenLayersAndTurns) {
    std::string deep = of_model;
    for (const auto& [from, to] : {std::pair{"--layers 2", "--layers 4"}, std::pair{"--batch 4", "--batch 8"}})
        deep.replace(deep.find(from), std::string(from).size(), to);
    for (const std::string grid :
         {"--ranks 2 --data 2 --microbatches 4 ", "--ranks 3 --pipe 3 --microbatches 8 "}) {
        const auto simulate = [&](const std::string& others) {
            const Outcome outcome =
                run("simulate --cluster double.json --steps 24 --look-every 5 --straggler uneven " +
                    (slow + grid) + deep + others);
            EXPECT_EQ(outcome.code, 0) << outcome.err;
            return outcome;
        };
        for (const char* const folder : {"whole", "second"}) std::filesystem::remove_all(path(folder));
        simulate("--run-dir whole --checkpoint-every 9 ");

        const Outcome second = simulate("--run-dir second --resume whole/checkpoints/step-18 ");

        expect_resumes(second, "second", "whole", 18);
        EXPECT_LE(max_relative_difference(losses("second"), losses_from("whole", 18)), 1e-10);
        ASSERT_EQ(decisions("whole").size(), 1U);
        EXPECT_FALSE(std::filesystem::exists(path("second/decisions.jsonl")));
    }
}

TEST_F(ResumedPlan, SkipsTheSameAmountOfWork) {
    const std::string options = std::string(slow) + "--straggler resize --look-every 5 --checkpoint-every 9 ";
    simulate(options + "--run-dir whole", 45);

    const Outcome second = simulate(options + "--run-dir second --resume whole/checkpoints/step-18", 45);

    expect_resumes(second, "second", "whole", 18);
    ASSERT_EQ(decisions("second").size(), 1U);
    EXPECT_FALSE(decisions("second")[0].contains("left_out"));
}

// The losses equal those of an uninterrupted run bit for bit. One run resumes between two looks, the other at a
// look, where channels are chosen again by their variation since the look before.
TEST_F(ResumedPlan, SkipsTheSameChannels) {
    for (const std::string options :
         {"--straggler resize --resize-select priority ", "--straggler resize --resize-select random ",
          "--straggler resize --resize-select window --resize-layers by-variation ",
          "--straggler resize --resize-fill same --resize-decay kept "}) {
        expect_same_losses(options, of_model);
    }
}

TEST_F(ResumedPlan, SkipsTheSameChannelsWhileHelpersComputeOthers) {
    std::string wide = of_model;  // most of its time goes to matmuls
    wide.replace(wide.find("--mlp-width 128"), 15, "--mlp-width 512");

    expect_same_losses("--straggler semi --slow rank=3,factor=6,steps=6:31,on=products ", wide);

    const json decision = decisions("whole").front();
    EXPECT_GT(decision.at("left_out")[3].get<double>(), 0.5);
    EXPECT_FALSE(decision.at("migrations").empty());
}

TEST_F(ResumedPlan, SkipsTheSameChannelsInWallTime) {
    write("decisions.jsonl", R"({"step": 3, "left_out": [0, 0.5], "layout": {"layers": 7, "stages": [)"
                             R"({"layers": [0, 7], "replicas": [{"ranks": [0, 1]}]}]}})");
    const std::string line =
        "train --tensor 2 --steps 20 --straggler resize --look-every 4 --decisions decisions.jsonl ";
    for (std::size_t mpi = 0; mpi < mpi_libraries(); ++mpi) {
        const std::string number = std::to_string(mpi);
        const auto train = [&](const std::string& options) {
            const Outcome outcome = run(line + options + of_model, 2, mpi);
            EXPECT_EQ(outcome.code, 0) << outcome.err;
        };

        train("--run-dir whole-" + number + " --checkpoint-every 5 --keep 3 ");
        train("--run-dir second-" + number + " --resume whole-" + number + "/checkpoints/step-10 ");

        EXPECT_EQ(losses("second-" + number), losses_from("whole-" + number, 10));
    }
}

// Checkpoints store the state of resizing in separate files. The other commands handle such checkpoints, and
// damaged or missing files are named.
TEST_F(ResumedPlan, HasItsResizingStateInSeparateCheckpointFiles) {
    const std::string options = std::string(slow) + "--straggler resize --look-every 5 ";
    simulate(options + "--run-dir whole --checkpoint-every 6 --keep 1 ", 13);
    const std::string checkpoint = "whole/checkpoints/step-13";
    const auto resume = [&](const std::string& others) {
        return run("simulate --ranks 4 --cluster double.json --tensor 4 --steps 15 --run-dir again --resume " +
                   checkpoint + ' ' + of_model + options + others);
    };
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(path(checkpoint)))
        if (entry.path().filename().string().starts_with("resizing-")) files.push_back(entry.path());
    std::ranges::sort(files);
    ASSERT_EQ(files.size(), 4U);
    const std::string name = checkpoint + "/" + files[1].filename().string();

    EXPECT_EQ(run("inspect --verify " + checkpoint).code, 0);
    EXPECT_NE(run("inspect " + name).err.find("is a file of a model; show the complete model"), std::string::npos);
    EXPECT_EQ(run("convert " + checkpoint + " converted").code, 0);
    EXPECT_FALSE(std::filesystem::exists(path("whole/checkpoints/step-12")));

    const std::string whole = read(name);
    std::string damaged = whole;
    damaged[damaged.size() - 1000] = static_cast<char>(damaged[damaged.size() - 1000] ^ 1);
    write(name, damaged);
    const Outcome refused = resume("");
    EXPECT_EQ(refused.code, 2);
    ASSERT_EQ(sentences(refused).size(), 1U) << refused.err;
    EXPECT_NE(refused.err.find("is damaged: its contents do not match its SHA-256; copy the checkpoint again"),
              std::string::npos)
        << refused.err;
    EXPECT_EQ(run("inspect --verify " + checkpoint).code, 2);
    std::filesystem::remove(path(name));
    EXPECT_NE(resume("").err.find(files[1].filename().string()), std::string::npos);
    // A run with another selection of channels needs none of these files.
    EXPECT_EQ(resume("--resize-select random ").code, 0);
}

// A run with other options starts with the plan of these options, and prints why.
TEST_F(ResumedPlan, IsDiscardedIfOptionsDiffer) {
    const std::string options = std::string(slow) + "--checkpoint-every 18 ";
    const std::string uneven = "--straggler uneven --look-every 5 ";
    simulate(options + uneven + "--run-dir whole", 20);
    const std::string begins =
        "\nplan      this run begins with the plan of its options, not with that of the checkpoint: ";
    const auto words = [&](const std::string& ranks, const std::string& others) {
        const Outcome outcome =
            run("simulate --cluster double.json --steps 20 --resume " +
                std::string("whole/checkpoints/step-18 ") + ranks + options + of_model + others);
        EXPECT_EQ(outcome.code, 0) << outcome.err;
        return outcome.out;
    };

    EXPECT_NE(words("--ranks 2 --tensor 2 ", uneven + "--run-dir two")
                  .find(begins + "the checkpoint was saved with 4 ranks, but this job has 2\n"),
              std::string::npos);
    EXPECT_NE(words("--ranks 4 --tensor 4 ", "--straggler off --run-dir off")
                  .find(begins + "the checkpoint was saved with --straggler uneven, but this run has "
                                 "--straggler off\n"),
              std::string::npos);
    EXPECT_NE(words("--ranks 4 --tensor 2 --data 2 ", uneven + "--run-dir grid")
                  .find(begins + "the options of the saved run gave plan "),
              std::string::npos);
    EXPECT_GT(slow_matmuls("off", 0), 1.5 * slow_matmuls("whole", 18));
    EXPECT_EQ(words("--ranks 4 --tensor 4 ", uneven + "--decisions whole/decisions.jsonl --run-dir again")
                  .find("\nplan "),
              std::string::npos);
    EXPECT_EQ(losses("again"), losses_from("whole", 18));
}

}  // namespace
}  // namespace trireme::messages
