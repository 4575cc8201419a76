// Tests what runs record about a GPU and its clock: the whole program on an emulated GPU, with a library that
// imitates NVIDIA's NVML.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>

#include "messages/workplace.hpp"

namespace trireme::messages {
namespace {

using nlohmann::json;

class MeteredGpu : public Workplace {
protected:
    MeteredGpu() {
        ::setenv("LD_LIBRARY_PATH", TRIREME_NVML_FOLDER, 1);
        ::setenv("NVML_STAND_IN_LOG", path("log").c_str(), 1);
        make_corpus();
    }
    ~MeteredGpu() override {
        for (const char* name :
             {"LD_LIBRARY_PATH", "NVML_STAND_IN_LOG", "NVML_STAND_IN_PLAY", "TRIREME_EMULATED_GPU_EACH"})
            ::unsetenv(name);
    }

    static void play(const char* name) { ::setenv("NVML_STAND_IN_PLAY", name, 1); }

    static std::string command(const std::string& options) {
        return "train --corpus corpus.h5 --layers 1 --width 16 --heads 2 --max-length 16 --device cuda "
               "--threads 1 "
               "--batch 4 --run-dir run --steps " +
               options;
    }

    // Runs two ranks under the first MPI library.
    Outcome train_pair(const std::string& options) const { return run(command(options), 2, on_emulated_gpu()); }

    std::vector<json> steps() const {
        std::istringstream lines(read("run/steps.jsonl"));
        std::vector<json> all;
        for (std::string line; std::getline(lines, line);) {
            const json record = json::parse(line);
            if (record.contains("seconds")) all.push_back(record);
        }
        return all;
    }

    std::string log() const { return std::filesystem::exists(path("log")) ? read("log") : ""; }
};

TEST_F(MeteredGpu, IsRecordedPerStepAndInTheManifest) {
    const Outcome outcome = train_pair("3");

    ASSERT_EQ(outcome.code, 0) << outcome.err;
    ASSERT_EQ(steps().size(), 3U);
    EXPECT_GT(json::parse(read("run/summary.json")).at("energy_j").get<double>(), 0);
    for (const json& step : steps()) {
        const double joules = step.at("energy_j");
        EXPECT_GE(joules, 0);
        const json& phases = step.at("energy_phases_j");
        EXPECT_EQ(phases.at("derived"), true);
        EXPECT_NEAR(phases.at("compute").get<double>() + phases.at("blocked").get<double>() +
                        phases.at("idle").get<double>(),
                    joules, 1e-9 * joules);
        EXPECT_EQ(step.at("gpus").at("watts"), json({115.5, 115.5}));
        EXPECT_EQ(step.at("gpus").at("clock_mhz"), json({1755, 1755}));
        EXPECT_EQ(step.at("gpus").at("memory_clock_mhz"), json({2619, 2619}));
        EXPECT_EQ(step.at("gpus").at("celsius"), json({41, 41}));
        EXPECT_EQ(step.at("gpus").at("used_bytes"), json({6e8, 6e8}));
    }
    const json manifest = json::parse(read("run/manifest.json"));
    EXPECT_EQ(manifest.at("gpu_driver"), "550.54.15");
    EXPECT_EQ(manifest.at("ranks_of_gpu"), json({2, 2}));
    EXPECT_EQ(json::parse(read("run/summary.json")).at("energy_j_of_ranks").size(), 2U);
    EXPECT_EQ(log(), "");
}

TEST_F(MeteredGpu, OmitsUnsupportedValuesFromTheRecords) {
    play("not_supported");

    const Outcome outcome = train_pair("2");

    ASSERT_EQ(outcome.code, 0) << outcome.err;
    for (const json& step : steps()) {
        EXPECT_FALSE(step.contains("energy_j"));
        EXPECT_FALSE(step.at("gpus").contains("watts"));
        EXPECT_EQ(step.at("gpus").at("celsius"), json({41, 41}));
    }
    EXPECT_FALSE(json::parse(read("run/summary.json")).contains("energy_j"));
}

TEST_F(MeteredGpu, TrainsWithoutNvmlButRecordsNothing) {
    play("none");

    const Outcome outcome = train_pair("2");

    ASSERT_EQ(outcome.code, 0) << outcome.err;
    for (const json& step : steps()) EXPECT_FALSE(step.contains("energy_j") || step.contains("gpus"));
    EXPECT_FALSE(json::parse(read("run/manifest.json")).contains("gpu_driver"));
}

TEST_F(MeteredGpu, LimitsItsClockUntilTheRunEnds) {
    const Outcome outcome = train_pair("2 --gpu-clock 1200");

    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(log(), "hold 0000:01:00.0 1200 1200\ngive back 0000:01:00.0\n");
}

TEST_F(MeteredGpu, ResetsItsClockAtTheTimeLimit) {
    const Outcome outcome = train_pair("100000 --gpu-clock 1200 --time-limit 6s");

    EXPECT_EQ(outcome.code, 75) << outcome.err;
    EXPECT_EQ(log(), "hold 0000:01:00.0 1200 1200\ngive back 0000:01:00.0\n");
}

TEST_F(MeteredGpu, ResetsItsClockIfTheRunDiverges) {
    const Outcome outcome = train_pair("50 --gpu-clock 1200 --lr 1e30 --clip 0");

    EXPECT_EQ(outcome.code, 2) << outcome.err;
    EXPECT_TRUE(log().starts_with("hold 0000:01:00.0 1200 1200\ngive back 0000:01:00.0\n")) << log();
}

TEST_F(MeteredGpu, HasAClockLimitForEachRank) {
    if (std::string(TRIREME_NCCL_STAND_IN_FOLDER).empty()) GTEST_SKIP() << "built without nccl.h";
    ::setenv("TRIREME_EMULATED_GPU_EACH", "1", 1);
    ::setenv("LD_LIBRARY_PATH", TRIREME_NVML_FOLDER ":" TRIREME_NCCL_STAND_IN_FOLDER, 1);

    const Outcome outcome = train_pair("2 --gpu-clock 1200");

    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(json::parse(read("run/manifest.json")).at("ranks_of_gpu"), json({1, 1}));
    const std::string clocks = log();
    EXPECT_EQ(std::ranges::count(clocks, '\n'), 4) << clocks;
}

TEST_F(MeteredGpu, IsRejectedIfItsClockCannotBeSet) {
    const auto refusal = [&](const std::string& options) {
        const Outcome outcome = train_pair(options);
        EXPECT_EQ(outcome.code, 2) << outcome.err;
        EXPECT_EQ(sentences(outcome).size(), 1U) << outcome.err;
        EXPECT_FALSE(std::filesystem::exists(path("run")));
        EXPECT_EQ(log(), "");
        return outcome.err;
    };

    EXPECT_NE(refusal("2 --gpu-clock 1203").find("are 1200 and 1215 MHz"), std::string::npos);
    EXPECT_NE(refusal("2 --gpu-clock 1203 --dry-run").find("are 1200 and 1215 MHz"), std::string::npos);
    play("no_permission");
    EXPECT_NE(refusal("2 --gpu-clock 1200").find("this user may not set the clock"), std::string::npos);
    play("none");
    EXPECT_NE(refusal("2 --gpu-clock 1200").find("does not start: Driver Not Loaded"), std::string::npos);
}

TEST_F(MeteredGpu, IsUnchangedByADryRun) {
    EXPECT_EQ(train_pair("2 --gpu-clock 1200 --dry-run").code, 0);

    EXPECT_EQ(log(), "");
}

}  // namespace
}  // namespace trireme::messages
