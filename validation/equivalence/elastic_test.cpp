// Steps that are fitted to a memory limit give the losses of a single rank without a limit.
#include <random>
#include <set>

#include "equivalence/equal_losses.hpp"

namespace trireme::messages {
namespace {

// Returns rows of text, of which one in twelve is long.
std::string draw_rows() {
    std::mt19937_64 random(5);
    std::string rows;
    for (int row = 0; row < 300; ++row) {
        std::string text;
        const std::size_t length = random() % 12 == 0 ? 100 + random() % 20 : 5 + random() % 20;
        for (std::size_t i = 0; i < length; ++i) text += static_cast<char>('a' + random() % 8);
        rows += nlohmann::json{{"text", text}}.dump() + "\n";
    }
    return rows;
}

const std::string both = "--elastic-means recompute,offload ";

class ElasticLength : public EqualLosses {
protected:
    static constexpr int all_steps = 60;

    void SetUp() override {
        write("rows.jsonl", draw_rows());
        const Outcome outcome = run("prepare rows.jsonl --tokenizer bytes --quiet --output corpus.h5");
        ASSERT_EQ(outcome.code, 0) << outcome.err;
    }

    static std::string training(const std::string& precision, int steps = all_steps) {
        return "--corpus corpus.h5 --batch 16 --layers 4 --width 16 --heads 2 --positions 128 --dropout 0.1 "
               "--lr 5e-3 --validation-share 0.1 --warmup-steps 3 --quiet --steps " +
               std::to_string(steps) + " " + precision;
    }

    void expect_equal_losses_within_limits(const std::string& precision, const std::vector<Way>& ways,
                                           double bar) {
        ASSERT_EQ(run("train " + training(precision) + " --run-dir one").code, 0);
        const std::vector<nlohmann::json> one = read_steps("one");
        ASSERT_EQ(one.size(), static_cast<std::size_t>(all_steps));
        int number = 0;
        for (const Way& way : ways) {
            SCOPED_TRACE(way.options);
            const std::string folder = "fitted" + std::to_string(number++);
            const Outcome outcome = run(
                "train " + training(precision) + " --elastic length " + way.options + " --run-dir " + folder,
                way.ranks, way.mpi);
            ASSERT_EQ(outcome.code, 0) << outcome.err;
            const std::vector<nlohmann::json> fitted_steps = read_steps(folder);
            expect_near(fitted_steps, one, bar);
            int fitted = 0;
            for (const nlohmann::json& step : fitted_steps) {
                EXPECT_GE(step.at("recomputed_bytes").get<std::size_t>() +
                              step.at("offloaded_bytes").get<std::size_t>(),
                          step.at("deficit_bytes").get<std::size_t>());
                fitted += step.at("deficit_bytes") > 0 ? 1 : 0;
            }
            EXPECT_GT(fitted, 0);
            EXPECT_LT(fitted, all_steps);
            EXPECT_EQ(nlohmann::json::parse(read(folder + "/summary.json")).at("steps_fitted_to_memory"),
                      fitted);
        }
    }

    // Each way with another MPI library than the last one, if there are several.
    static std::vector<Way> alternate_libraries(std::vector<Way> ways) {
        for (std::size_t i = 0; i < ways.size(); ++i) {
            const std::vector<std::size_t> programs = programs_for(ways[i].ranks);
            ways[i].mpi = programs[i % programs.size()];
        }
        return ways;
    }
};

TEST_F(ElasticLength, GivesTheLossesOfOneRankWithReferenceKernels) {
    write("uneven.json", R"({"layers": 11, "stages": [
        {"layers": [0, 4], "replicas": [{"ranks": [0]}, {"ranks": [1]}]},
        {"layers": [4, 11], "replicas": [{"ranks": [2]}]}]})");
    expect_equal_losses_within_limits(
        "--dtype f64 --device reference",
        alternate_libraries(
            {{both + "--memory-limit 2450000 --pipe 2 --microbatches 8 --schedule gpipe", 2},
             {"--memory-limit 2450000 --pipe 2 --microbatches 8 --schedule gpipe --elastic-means recompute", 2},
             {both + "--memory-limit 1620000 --pipe 2 --microbatches 8 --schedule 1f1b", 2},
             {"--memory-limit 4350000 --pipe 2 --microbatches 8 --schedule zb-h1", 2},
             {both + "--memory-limit 1500000 --pipe 2 --microbatches 8 --schedule gpipe --length balanced", 2},
             {both + "--memory-limit 1900000 --pipe 2 --tensor 2 --microbatches 8 --schedule gpipe", 4},
             {both + "--memory-limit 1780000 --layout uneven.json --microbatches 8 --schedule 1f1b", 3},
             {both + "--memory-limit 1400000 --pipe 4 --data 2 --microbatches 4 --schedule gpipe", 8}}),
        1e-10);
}

TEST_F(ElasticLength, GivesTheLossesOfOneRankWithFastKernels) {
    expect_equal_losses_within_limits(
        "--dtype f32 --device cpu",
        alternate_libraries({{both + "--memory-limit 1230000 --pipe 2 --microbatches 8 --schedule gpipe", 2},
                             {"--memory-limit 2180000 --pipe 2 --microbatches 8 --schedule zb-h1", 2}}),
        1e-5);
}

// With --length dynapipe, all micro-batches of a step have the same recomputation.
TEST_F(ElasticLength, MayChooseTheRecomputationOfWholeSteps) {
    const std::string common = training("--dtype f64 --device reference", 40);
    ASSERT_EQ(run("train " + common + " --length pack --run-dir one").code, 0);
    const std::vector<nlohmann::json> one = read_steps("one");
    int number = 0;
    for (const Way& way : alternate_libraries({{"--memory-limit 1700000 --schedule 1f1b", 2},
                                               {"--memory-limit 1800000 --schedule auto", 2},
                                               {"--memory-limit 2600000 --schedule gpipe --tensor 2", 4}})) {
        SCOPED_TRACE(way.options);
        const std::string folder = "chosen" + std::to_string(number++);
        const Outcome outcome = run("train " + common + " --length dynapipe --pipe 2 --microbatches 4 " +
                                        way.options + " --run-dir " + folder,
                                    way.ranks, way.mpi);
        ASSERT_EQ(outcome.code, 0) << outcome.err;
        const std::vector<nlohmann::json> chosen_steps = read_steps(folder);
        expect_near(chosen_steps, one, 1e-10);
        std::set<std::string> levels;
        for (const nlohmann::json& step : chosen_steps) levels.insert(step.at("recompute"));
        EXPECT_GE(levels.size(), 2);
    }
}

TEST_F(ElasticLength, ChoosesNoRecomputationOfStepsThatFitWithoutIt) {
    const std::string options = "plan " + training("--dtype f64 --device reference") +
                                " --length dynapipe --pipe 2 --microbatches 4 --format json --cluster " +
                                TRIREME_SOURCE_DIR "/perf/clusters/a100-8x4.json";

    const Outcome unlimited = run(options);
    const Outcome limited = run(options + " --memory-limit 1GB");

    EXPECT_EQ(unlimited.code, 0) << unlimited.err;
    EXPECT_EQ(unlimited.out, limited.out);
    const nlohmann::json steps = nlohmann::json::parse(unlimited.out).at("steps");
    EXPECT_EQ(steps.size(), static_cast<std::size_t>(all_steps));
    for (const nlohmann::json& step : steps) EXPECT_FALSE(step.contains("recompute"));
}

}  // namespace
}  // namespace trireme::messages
