#include "trireme/records/run_directory.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "error_message.hpp"
#include "scratch_folder.hpp"
#include "trireme/base/error.hpp"

namespace trireme::records {
namespace {

using nlohmann::json;
using validation::catch_message;
using validation::read_whole;
using validation::says;
using validation::ScratchFolder;

const setup::ModelFlops flops{.body_parameters = 180, .head_parameters = 20, .attention_factor = 4};

StepOutcome usual_outcome() {
    return {.loss = 2.5,
            .gradient_norm = 0.75,
            .learning_rate = 0.125,
            .size = {.tokens = 4, .targets = 4, .square_length_sum = 10},
            .padded_tokens = 6,
            .seconds = 2,
            .compute_seconds = 1.5,
            .waits = {.pipeline = 0.125, .tensor = 0.0625, .data = 0.0625},
            .peak_bytes = 4096};
}

std::vector<json> lines_of(const std::string& path) {
    std::istringstream text(read_whole(path));
    std::vector<json> lines;
    for (std::string line; std::getline(text, line);) lines.push_back(json::parse(line));
    return lines;
}

// A new and empty run directory.
class RunDirectoryTest : public ::testing::Test {
protected:
    std::string file(const char* name) const { return path_ + "/" + name; }

    json line_of(const StepOutcome& outcome) {
        directory_.add_step(3, outcome, flops, 5280);
        return lines_of(file("steps.jsonl")).back();
    }

    json summary_of(const Figures& figures) {
        directory_.write_summary(figures);
        return json::parse(read_whole(file("summary.json")));
    }

    ScratchFolder folder_;
    std::string path_ = folder_.file("runs/first");  // the parent folder is created, too
    RunDirectory directory_{path_};
};

// A step has 6 * 180 * 4 + 6 * 20 * 4 + 12 * 4 * 10 = 5280 operations in 2 seconds; 2 * 5280 were possible.
TEST_F(RunDirectoryTest, HasALineForEachStep) {
    const json line = line_of(usual_outcome());

    EXPECT_EQ(line.at("step"), 3);
    EXPECT_EQ(line.at("loss"), 2.5);
    EXPECT_EQ(line.at("tokens"), 4);
    EXPECT_EQ(line.at("padded_tokens"), 6);
    EXPECT_EQ(line.at("seconds"), 2.0);
    EXPECT_EQ(line.at("clock"), "wall");
    EXPECT_EQ(line.at("tokens_per_s"), 2.0);
    EXPECT_EQ(line.at("mfu"), 0.5);
    EXPECT_EQ(line.at("mfu_causal"), 0.5 * 5040 / 5280);
    EXPECT_EQ(line.at("bubble"), 0.25);
    EXPECT_EQ(line.at("bubble_schedule"), 0.0625);
    EXPECT_EQ(line.at("wait_tensor"), 0.03125);
    EXPECT_EQ(line.at("wait_data"), 0.03125);
    EXPECT_EQ(line.at("wait_other"), 0.125);
    EXPECT_EQ(line.at("comm_wait_s"), 0.25);
    EXPECT_EQ(line.at("grad_norm"), 0.75);
    EXPECT_EQ(line.at("lr"), 0.125);
    EXPECT_EQ(line.at("peak_bytes"), 4096);
    EXPECT_FALSE(line.contains("skipped"));
    EXPECT_FALSE(line.contains("rolled_back"));
}

TEST_F(RunDirectoryTest, OmitsFieldsThatWereNotMeasured) {
    StepOutcome outcome = usual_outcome();
    outcome.peak_bytes = 0;

    const json line = line_of(outcome);

    for (const char* field : {"energy_j", "plan", "peak_bytes"}) EXPECT_FALSE(line.contains(field)) << field;
    EXPECT_TRUE(line.contains("loss"));
}

TEST_F(RunDirectoryTest, RecordsHowAStepWasFittedIntoMemory) {
    StepOutcome outcome = usual_outcome();
    EXPECT_FALSE(line_of(outcome).contains("planning_s"));
    outcome.predicted_bytes = 5;
    outcome.limit_bytes = 6;
    outcome.deficit_bytes = 7;
    outcome.recomputed_bytes = 8;
    outcome.offloaded_bytes = 1;
    outcome.planning_seconds = 0.25;

    const json line = line_of(outcome);

    EXPECT_EQ(line.at("predicted_bytes"), 5);
    EXPECT_EQ(line.at("limit_bytes"), 6);
    EXPECT_EQ(line.at("deficit_bytes"), 7);
    EXPECT_EQ(line.at("recomputed_bytes"), 8);
    EXPECT_EQ(line.at("offloaded_bytes"), 1);
    EXPECT_EQ(line.at("planning_s"), 0.25);
}

TEST_F(RunDirectoryTest, MarksSkippedSteps) {
    StepOutcome outcome = usual_outcome();
    outcome.loss = std::numeric_limits<double>::quiet_NaN();
    outcome.gradient_norm = std::numeric_limits<double>::infinity();
    outcome.is_skipped = true;

    const json line = line_of(outcome);

    EXPECT_EQ(line.at("skipped"), true);
    EXPECT_FALSE(line.contains("loss"));  // JSON has no NaN and no infinity
    EXPECT_FALSE(line.contains("grad_norm"));
}

TEST_F(RunDirectoryTest, RecordsWhetherASpeculativeUpdateWasRolledBack) {
    StepOutcome outcome = usual_outcome();
    for (const bool is_rolled_back : {false, true}) {
        outcome.is_rolled_back = is_rolled_back;
        EXPECT_EQ(line_of(outcome).at("rolled_back"), is_rolled_back);
    }
}

TEST_F(RunDirectoryTest, OmitsCausalMfuOfStepsForBidirectionalModels) {
    setup::ModelFlops bidirectional = flops;
    bidirectional.is_causal = false;

    directory_.add_step(3, usual_outcome(), bidirectional, 5280);

    const json line = lines_of(file("steps.jsonl")).back();
    EXPECT_EQ(line.at("mfu"), 0.5);
    EXPECT_FALSE(line.contains("mfu_causal"));
}

TEST_F(RunDirectoryTest, WritesALineWithTheScoresOfEachEvaluation) {
    directory_.add_evaluation(4, {.loss = 0.5, .accuracy = 0.75});
    directory_.add_evaluation(5, {.loss = 0.25, .exact_match = 0.5, .f1 = 0.625});

    const auto lines = lines_of(file("steps.jsonl"));

    ASSERT_EQ(lines.size(), 2U);
    EXPECT_EQ(lines[0], json({{"step", 4}, {"validation_loss", 0.5}, {"validation_accuracy", 0.75}}));
    EXPECT_EQ(lines[1], json({{"step", 5},
                              {"validation_loss", 0.25},
                              {"validation_exact_match", 0.5},
                              {"validation_f1", 0.625}}));
}

TEST_F(RunDirectoryTest, WritesALineAsSoonAsTheStepIsDone) {
    directory_.add_step(0, usual_outcome(), flops, 5280);
    directory_.add_step(1, usual_outcome(), flops, 5280);
    directory_.add_evaluation(1, {.loss = 2.25});

    const auto lines = lines_of(file("steps.jsonl"));  // while the directory is still open

    ASSERT_EQ(lines.size(), 3U);
    EXPECT_EQ(lines[0].at("step"), 0);
    EXPECT_EQ(lines[1].at("step"), 1);
    EXPECT_EQ(lines[2], json({{"step", 1}, {"validation_loss", 2.25}}));
}

TEST_F(RunDirectoryTest, WritesTheConfigurationUnchanged) {
    directory_.write_config("[data]\ncorpus = a.h5\n");

    EXPECT_EQ(read_whole(file("config.ini")), "[data]\ncorpus = a.h5\n");
}

TEST_F(RunDirectoryTest, DescribesSoftwareHardwareAndModelInTheManifest) {
    Manifest written{.version = "0.1.0 (abc)",
                     .mpi_library = "Open MPI v4.1.4",
                     .started = "2026-01-31 14:25:01",
                     .corpus = "a \"quoted\" \xff name.h5",
                     .corpus_checksum = std::string(64, 'f'),
                     .model = "gpt2-tiny",
                     .layout = R"({"layers":1})",
                     .schedule = "1f1b",
                     .plan = "0123456789abcdef",
                     .hosts = {"node1", "node1", "node2"},
                     .cores = {"0-3", "4-7", "0-3"},
                     .device = "cpu, some processor",
                     .threads = 2,
                     .parameters = 1234};
    written.peak.flops = 1e11;
    written.slow = {{.rank = 2, .factor = 4, .first_step = 3, .last_step = 5}, {.rank = 0, .factor = 1.5}};
    directory_.write_manifest(written);

    const json manifest = json::parse(read_whole(file("manifest.json")));

    EXPECT_EQ(manifest.at("version"), "0.1.0 (abc)");
    EXPECT_EQ(manifest.at("mpi"), "Open MPI v4.1.4");
    EXPECT_EQ(manifest.at("started"), "2026-01-31 14:25:01");
    EXPECT_EQ(manifest.at("ranks"), 3);
    EXPECT_EQ(manifest.at("hosts"), json({"node1", "node1", "node2"}));
    EXPECT_EQ(manifest.at("cores"), json({"0-3", "4-7", "0-3"}));
    EXPECT_EQ(manifest.at("device"), "cpu, some processor");
    EXPECT_EQ(manifest.at("threads_per_rank"), 2);
    EXPECT_EQ(manifest.at("corpus"), "a \"quoted\" \uFFFD name.h5");  // a path need not be valid UTF-8
    EXPECT_EQ(manifest.at("corpus_sha256"), std::string(64, 'f'));
    EXPECT_EQ(manifest.at("model"), "gpt2-tiny");
    EXPECT_EQ(manifest.at("parameters"), 1234);
    EXPECT_EQ(manifest.at("measured_peak_flops"), 1e11);
    EXPECT_EQ(manifest.at("layout"), json::parse(R"({"layers":1})"));
    EXPECT_EQ(manifest.at("schedule"), "1f1b");
    EXPECT_EQ(manifest.at("plan"), "0123456789abcdef");
    EXPECT_EQ(manifest.at("slow"), json::parse(R"([{"rank": 2, "factor": 4, "first_step": 3, "last_step": 5},)"
                                               R"( {"rank": 0, "factor": 1.5, "first_step": 1}])"));
}

Figures usual_figures() {
    return {.steps = 2,
            .first_loss = 4,
            .last_loss = 3,
            .validation = {},
            .seconds = 4,
            .tokens = 8,
            .padded_tokens = 16,
            .flops = 10560,
            .causal_flops = 10080,
            .peak_flops = 5280,
            .compute_seconds = 3,
            .waits = {.pipeline = 0.25, .tensor = 0.125, .data = 0.125},
            .ranks = 2,
            .predicted_bytes = 1000,
            .growth_bytes = 900,
            .complaint = {}};
}

TEST_F(RunDirectoryTest, SummarisesFiguresWithTheirLimits) {
    const json summary = summary_of(usual_figures());

    EXPECT_EQ(summary.at("verdict"), "VALID");
    EXPECT_FALSE(summary.contains("reason"));
    EXPECT_EQ(summary.at("clock"), "wall");
    EXPECT_EQ(summary.at("steps"), 2);
    EXPECT_EQ(summary.at("loss"), json({{"first", 4.0}, {"last", 3.0}}));
    EXPECT_EQ(summary.at("seconds"), 4.0);
    EXPECT_EQ(summary.at("tokens"), 8);
    EXPECT_EQ(summary.at("tokens_per_s"), 2.0);
    EXPECT_EQ(summary.at("padding"), json({{"share", 0.5}, {"limit", 0}}));
    EXPECT_EQ(summary.at("model_flops_per_s").at("value"), 2640.0);
    EXPECT_EQ(summary.at("model_flops_per_s").at("limit"), 5280.0);
    EXPECT_EQ(summary.at("mfu"), 0.5);
    EXPECT_EQ(summary.at("bubble"),
              json({{"measured", 0.25},
                    {"limit", 0.0},
                    {"limit_is", "the bubble of the schedule if all stages took equal time"}}));
    EXPECT_EQ(summary.at("bubble_schedule").at("measured"), 0.0625);
    EXPECT_EQ(summary.at("wait_tensor"), json({{"measured", 0.03125}, {"limit", 0}}));
    EXPECT_EQ(summary.at("memory_bytes"), json({{"growth", 900}, {"predicted", 1000}}));
    for (const char* field : {"approximate", "remarks", "slowed_on_purpose", "earlier_steps"})
        EXPECT_FALSE(summary.contains(field)) << field;
}

TEST_F(RunDirectoryTest, SummarisesApproximationsRemarksAndSlowedRanks) {
    Figures figures = usual_figures();
    figures.approximations = {"rank 1 skipped 25.0 % of the matmuls of its blocks"};
    figures.remarks = {"the loss did not fall, which 2 steps are too few to judge"};
    figures.emulated_slowness = "rank 1 takes 4 times as long";
    figures.earlier_steps = 100;

    const json summary = summary_of(figures);

    EXPECT_EQ(summary.at("verdict"), "VALID");
    EXPECT_EQ(summary.at("approximate"), json(figures.approximations));
    EXPECT_EQ(summary.at("remarks"), json(figures.remarks));
    EXPECT_EQ(summary.at("slowed_on_purpose"), figures.emulated_slowness);
    EXPECT_EQ(summary.at("earlier_steps"), 100);
}

TEST_F(RunDirectoryTest, SummarisesRolledBackUpdatesOnlyIfCounted) {
    Figures figures = usual_figures();
    EXPECT_FALSE(summary_of(figures).contains("rolled_back_updates"));

    figures.rolled_back_updates = 0;

    EXPECT_EQ(summary_of(figures).at("rolled_back_updates"), 0);
}

TEST_F(RunDirectoryTest, SummarisesTheValidationLossIfThereIsOne) {
    Figures figures = usual_figures();
    figures.validation = Evaluation{.loss = 3.5};

    const json summary = summary_of(figures);

    EXPECT_EQ(summary.at("loss").at("validation"), 3.5);
    EXPECT_FALSE(summary.contains("validation"));  // the evaluation counted no choices
}

TEST_F(RunDirectoryTest, SummarisesAccuracyExactMatchAndF1) {
    Figures figures = usual_figures();
    figures.validation = Evaluation{.loss = 1, .accuracy = 0.75};
    EXPECT_EQ(summary_of(figures).at("validation"), json({{"accuracy", 0.75}}));

    figures.validation = Evaluation{.loss = 1, .exact_match = 0.5, .f1 = 0.625};
    EXPECT_EQ(summary_of(figures).at("validation"), json({{"exact_match", 0.5}, {"f1", 0.625}}));
}

TEST_F(RunDirectoryTest, SummarisesCausalMfuOnlyForCausalModels) {
    Figures figures = usual_figures();
    EXPECT_EQ(summary_of(figures).at("mfu_causal"), 10080.0 / (4 * 5280));

    figures.causal_flops.reset();

    EXPECT_FALSE(summary_of(figures).contains("mfu_causal"));
    EXPECT_EQ(summary_of(figures).at("mfu"), 0.5);
}

TEST_F(RunDirectoryTest, OmitsAValidationLossThatIsNan) {
    Figures figures = usual_figures();
    figures.validation = Evaluation{.loss = std::numeric_limits<double>::quiet_NaN()};

    EXPECT_FALSE(summary_of(figures).at("loss").contains("validation"));
}

TEST_F(RunDirectoryTest, SummarisesWhyTheRunIsInvalid) {
    Figures figures = usual_figures();
    figures.complaint = "2 of 2 steps were skipped";

    const json summary = summary_of(figures);

    EXPECT_EQ(summary.at("verdict"), "INVALID");
    EXPECT_EQ(summary.at("reason"), "2 of 2 steps were skipped");
}

// A run whose steps were all skipped has no loss, rather than a loss of 0.
TEST_F(RunDirectoryTest, OmitsTheLossIfEveryStepWasSkipped) {
    FigureSum sum(flops, 5280, 1);
    StepOutcome outcome = usual_outcome();
    outcome.is_skipped = true;
    sum.add(outcome);

    const json summary = summary_of(sum.finish({}));

    EXPECT_EQ(summary.at("verdict"), "INVALID");
    EXPECT_FALSE(summary.value("loss", json::object()).contains("first"));
}

TEST(RunDirectory, RejectsAndKeepsTheStepsOfAnEarlierRun) {
    const ScratchFolder folder;
    RunDirectory(folder.file("run")).add_step(0, usual_outcome(), flops, 1);
    const std::string before = read_whole(folder.file("run/steps.jsonl"));

    const std::string message = catch_message<ConfigError>([&] { RunDirectory again(folder.file("run")); });

    EXPECT_EQ(message, "the run directory " + folder.file("run") +
                           " already holds the steps of an earlier run; choose another --run-dir");
    EXPECT_EQ(read_whole(folder.file("run/steps.jsonl")), before);
}

TEST_F(RunDirectoryTest, RejectsASecondRunInTheSameDirectory) {
    const std::string message = catch_message<ConfigError>([&] { RunDirectory another(path_); });

    EXPECT_TRUE(says(message, "the run directory " + path_ + " is in use by process "));
}

TEST_F(RunDirectoryTest, CountsAsUsedOnceItHasALine) {
    check_unused(path_);
    check_unused(folder_.file("never"));
    directory_.add_evaluation(0, {.loss = 1});

    EXPECT_TRUE(
        says(catch_message<ConfigError>([&] { check_unused(path_); }), "holds the steps of an earlier run"));
    EXPECT_FALSE(std::filesystem::exists(folder_.file("never")));
}

}  // namespace
}  // namespace trireme::records
