// Steps during which optimizer state leaves the memory give the losses of a single rank that keeps its state.
#include <random>

#include "equivalence/equal_losses.hpp"

namespace trireme::messages {
namespace {

class OffloadedState : public EqualLosses {
protected:
    static constexpr int all_steps = 60;

    // The samples have similar lengths, so that many steps come close to the largest one.
    void SetUp() override {
        std::mt19937_64 random(6);
        std::string rows;
        for (int row = 0; row < 300; ++row) {
            std::string text;
            const std::size_t length = 100 + random() % 20;
            for (std::size_t i = 0; i < length; ++i) text += static_cast<char>('a' + random() % 8);
            rows += nlohmann::json{{"text", text}}.dump() + "\n";
        }
        write("rows.jsonl", rows);
        ASSERT_EQ(run("prepare rows.jsonl --tokenizer bytes --quiet --output corpus.h5").code, 0);
        write("uneven.json", R"({"layers": 7, "stages": [
            {"layers": [0, 3], "replicas": [{"ranks": [0]}, {"ranks": [1]}]},
            {"layers": [3, 7], "replicas": [{"ranks": [2]}]}]})");
    }

    std::vector<nlohmann::json> train(const std::string& options, const std::string& folder, int ranks = 0,
                                      std::size_t mpi = 0) {
        const Outcome outcome =
            run("train --corpus corpus.h5 --batch 4 --layers 2 --width 32 --heads 2 --positions 128 --dropout "
                "0.1 --lr 5e-3 --validation-share 0.1 --warmup-steps 3 --quiet --steps " +
                    std::to_string(all_steps) + ' ' + options + " --run-dir " + folder,
                ranks, mpi);
        EXPECT_EQ(outcome.code, 0) << options << '\n' << outcome.err;
        return read_steps(folder);
    }

    static int count_offloading(const std::vector<nlohmann::json>& steps) {
        return static_cast<int>(std::ranges::count_if(
            steps, [](const nlohmann::json& step) { return step.at("offloaded_bytes") > 0; }));
    }

    void expect_equal_losses_with_offload(const std::string& precision, const std::vector<Way>& ways,
                                          double bar) {
        const std::string type = precision.substr(std::string("--dtype ").size(), 3);
        const std::vector<nlohmann::json> one = train(precision, type);
        ASSERT_EQ(one.size(), static_cast<std::size_t>(all_steps));
        for (std::size_t i = 0; i < ways.size(); ++i) {
            SCOPED_TRACE(ways[i].options);
            const std::vector<std::size_t> programs = programs_for(ways[i].ranks);
            const std::vector<nlohmann::json> steps =
                train(precision + " --elastic length " + ways[i].options, type + '-' + std::to_string(i),
                      ways[i].ranks, programs[i % programs.size()]);
            expect_near(steps, one, bar);
            EXPECT_GT(count_offloading(steps), 0);
            for (const nlohmann::json& step : steps)
                EXPECT_GE(step.at("recomputed_bytes").get<std::size_t>() +
                              step.at("offloaded_bytes").get<std::size_t>(),
                          step.at("deficit_bytes").get<std::size_t>());
        }
    }
};

TEST_F(OffloadedState, GivesTheLossesOfOneRank) {
    const std::string offload = "--elastic-means offload ";
    expect_equal_losses_with_offload(
        "--dtype f64 --device reference",
        {{offload + "--memory-limit 2970000 --pipe 2 --microbatches 4 --schedule gpipe", 2},
         {offload + "--memory-limit 1830000 --pipe 2 --microbatches 4 --schedule 1f1b", 2},
         {offload + "--memory-limit 2050000 --layout uneven.json --microbatches 4 --schedule 1f1b", 3},
         {offload + "--memory-limit 2000000 --pipe 2 --tensor 2 --microbatches 4 --schedule gpipe", 4},
         {"--elastic-means recompute,offload --memory-limit 1700000 --pipe 2 --microbatches 4 --schedule gpipe",
          2}},
        1e-10);
}

TEST_F(OffloadedState, GivesTheLossesOfOneRankWithFastKernels) {
    expect_equal_losses_with_offload(
        "--dtype f32 --device cpu",
        {{"--elastic-means offload --memory-limit 1485000 --pipe 2 --microbatches 4 --schedule gpipe", 2}},
        1e-5);
}

// Between two layouts, the state leaves the old block and enters the new one by way of the offload store. In
// the last layout all state stays in memory.
TEST_F(OffloadedState, GivesTheLossesOfOneRankAfterChangesOfTheLayout) {
    write("first.json", R"({"layers": 7, "stages": [{"layers": [0, 4], "replicas": [{"ranks": [0]}]},
        {"layers": [4, 7], "replicas": [{"ranks": [1]}, {"ranks": [2]}]}]})");
    write(
        "decisions.jsonl",
        R"({"step": 20, "layout": {"layers": 7, "stages": [{"layers": [0, 4], "replicas": [{"ranks": [2]}]}, )"
        R"({"layers": [4, 7], "replicas": [{"ranks": [0]}, {"ranks": [1]}]}]}})"
        "\n"
        R"({"step": 40, "layout": {"layers": 7, "idle": [0], "stages": [)"
        R"({"layers": [0, 4], "replicas": [{"ranks": [1]}]}, {"layers": [4, 7], "replicas": [{"ranks": [2]}]}]}})"
        "\n");
    const std::string changing =
        "--layout first.json --decisions decisions.jsonl --microbatches 4 --schedule 1f1b --elastic-means "
        "offload "
        "--memory-limit ";
    expect_equal_losses_with_offload("--dtype f64 --device reference",
                                     {{changing + "2950000", 3},
                                      {changing + "3050000 --move twins", 3},
                                      {changing + "3050000 --move restart", 3}},
                                     1e-10);
    expect_equal_losses_with_offload("--dtype f32 --device cpu", {{changing + "1485000", 3}}, 1e-5);
    for (const char* const folder : {"f64-0", "f64-1", "f64-2", "f32-0"}) {
        const std::vector<nlohmann::json> steps = read_steps(folder);
        EXPECT_GT(count_offloading({steps.begin(), steps.begin() + 20}), 0);
        EXPECT_GT(count_offloading({steps.begin() + 20, steps.begin() + 40}), 0);
        EXPECT_EQ(count_offloading({steps.begin() + 40, steps.end()}), 0);
    }
}

// The checkpoint is written while the next step offloads the state, and is resumed by other ranks.
TEST_F(OffloadedState, ChangesNoBitAndSurvivesACheckpoint) {
    const std::string common = "--dtype f64 --device reference --pipe 2 ";
    const std::vector<nlohmann::json> kept =
        train(common + "--microbatches 4 --schedule gpipe --checkpoint-every 11", "kept", 2);
    const std::vector<nlohmann::json> offloaded =
        train(common +
                  "--microbatches 4 --schedule gpipe --checkpoint-every 11 --elastic length "
                  "--elastic-means offload --memory-limit 3400000",
              "offloaded", 2);
    ASSERT_EQ(kept.size(), offloaded.size());
    for (std::size_t s = 0; s < kept.size(); ++s)
        for (const char* const field : {"loss", "grad_norm"})
            EXPECT_EQ(kept[s].at(field), offloaded[s].at(field)) << "step " << s;
    EXPECT_GT(count_offloading(offloaded), 0);

    const Outcome resumed =
        run("train --resume offloaded/checkpoints/step-33 --pipe 2 --data 2 --microbatches 2 "
            "--memory-limit 2260000 --quiet --run-dir resumed",
            4);

    ASSERT_EQ(resumed.code, 0) << resumed.err;
    const std::vector<nlohmann::json> later = read_steps("resumed");
    expect_near(later, {kept.begin() + 33, kept.end()}, 1e-10);
    EXPECT_GT(count_offloading(later), 0);
}

}  // namespace
}  // namespace trireme::messages
