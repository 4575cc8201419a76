// Tests the clocks that schedule files set on GPUs: the whole program on emulated GPUs, with a library that
// imitates NVIDIA's NVML.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <sstream>

#include "messages/workplace.hpp"

namespace trireme::messages {
namespace {

constexpr int highest_mhz = 1980;

// A line of the log of the NVML stand-in.
struct ClockLine {
    bool is_restore = false;
    std::string gpu;
    int mhz = 0;  // of a clock that is set
    double time = 0;
};

class PlannedClocks : public Workplace {
protected:
    // signalled.sh SIGNAL PROGRAM... becomes the program, and gets the signal in the second step.
    void SetUp() override {
        if (std::string(TRIREME_NCCL_STAND_IN_FOLDER).empty()) GTEST_SKIP() << "built without nccl.h";
        ::setenv("TRIREME_EMULATED_GPU_EACH", "1", 1);
        ::setenv("LD_LIBRARY_PATH", TRIREME_NVML_FOLDER ":" TRIREME_NCCL_STAND_IN_FOLDER, 1);
        ::setenv("NVML_STAND_IN_LOG", path("log").c_str(), 1);
        ::setenv("NVML_STAND_IN_TIMES", "1", 1);
        make_corpus();
        write("clocks.csv", make_programs(stage_clocks()));
        write("signalled.sh",
              "signal=$1; shift\n"
              "(until [ $(cat log 2> /dev/null | wc -l) -gt 30 ] || ! kill -0 $$; do sleep 0.01; done\n"
              " kill -$signal $$) > /dev/null 2>&1 &\n"
              "exec \"$@\"\n");
    }
    ~PlannedClocks() override {
        for (const char* name : {"NVML_STAND_IN_LOWEST_MHZ", "LD_LIBRARY_PATH", "NVML_STAND_IN_LOG",
                                 "NVML_STAND_IN_PLAY", "NVML_STAND_IN_TIMES", "TRIREME_EMULATED_GPU_EACH"})
            ::unsetenv(name);
    }

    // Returns the ten clocks of each stage in a step.
    static std::vector<std::vector<int>> stage_clocks() {
        std::vector<std::vector<int>> clocks(2);
        for (int pass = 0; pass < 10; ++pass) {
            clocks[0].push_back(1500 - 15 * pass);
            clocks[1].push_back(pass % 2 == 0 ? highest_mhz : 1200);
        }
        return clocks;
    }

    // Returns programs of two stages and five micro-batches with a CLOCK before each pass.
    static std::string make_programs(const std::vector<std::vector<int>>& clocks) {
        std::string text;
        for (std::size_t pass = 0; pass < 10; ++pass) {
            text += (pass == 0 ? "CLOCK" : ",CLOCK") + std::to_string(clocks[0][pass]);
            text += (pass < 5 ? ",0F" : ",0B") + std::to_string(pass % 5);
        }
        text += '\n';
        for (std::size_t pass = 0; pass < 10; ++pass) {
            text += (pass == 0 ? "CLOCK" : ",CLOCK") + std::to_string(clocks[1][pass]);
            text += (pass % 2 == 0 ? ",1F" : ",1B") + std::to_string(pass / 2);
        }
        return text + '\n';
    }

    // `more` begins with the schedule.
    static std::string options(const std::string& more) {
        return "train --corpus corpus.h5 --layers 2 --width 16 --heads 2 --max-length 16 --device cuda "
               "--threads 1 --batch 10 --run-dir run --schedule " +
               more;
    }

    // Runs two ranks. `prefixes` precede their command lines.
    Outcome train(const std::vector<std::string>& prefixes, const std::string& more) const {
        std::vector<std::string> commands;
        for (const std::string& prefix : prefixes)
            commands.push_back(prefix + program_path(on_emulated_gpu()) + " " + options(more) +
                               " --pipe 2 --microbatches 5");
        return run_ranks(commands, 0);
    }

    std::vector<ClockLine> read_log() const {
        std::vector<ClockLine> lines;
        std::istringstream text(std::filesystem::exists(path("log")) ? read("log") : "");
        for (std::string line; std::getline(text, line);) {
            std::vector<std::string> parts = words(line);
            ClockLine& parsed = lines.emplace_back();
            parsed.is_restore = parts[0] == "give";
            const std::size_t gpu = parsed.is_restore ? 2 : 1;  // two words
            parsed.gpu = parts[gpu] + ' ' + parts[gpu + 1];
            if (!parsed.is_restore) parsed.mhz = std::stoi(parts[gpu + 2]);
            parsed.time = std::stod(parts.back());
        }
        return lines;
    }

    // Expects that no clock is set after the first restore, and that the clocks of two GPUs are restored.
    void expect_restored(const Outcome& outcome) const {
        const std::vector<ClockLine> lines = read_log();
        const auto first = std::ranges::find(lines, true, &ClockLine::is_restore);
        EXPECT_TRUE(std::all_of(first, lines.end(), [](const ClockLine& line) { return line.is_restore; }))
            << read("log");
        std::set<std::string> restored;
        for (auto line = first; line != lines.end(); ++line) restored.insert(line->gpu);
        EXPECT_EQ(restored.size(), 2U) << read("log") << outcome.err;
        EXPECT_GT(first - lines.begin(), 20) << outcome.err;  // the end came in the middle of the run
    }
};

TEST_F(PlannedClocks, AreSetInOrderAndNotTooOften) {
    constexpr double distance = 0.05;

    const Outcome outcome = train({"", ""}, "clocks.csv --steps 2 --clock-every 0.05");

    ASSERT_EQ(outcome.code, 0) << outcome.err;
    std::map<std::string, std::vector<ClockLine>> lines_by_gpu;
    for (const ClockLine& line : read_log()) lines_by_gpu[line.gpu].push_back(line);
    ASSERT_EQ(lines_by_gpu.size(), 2U);
    std::set<std::vector<int>> clocks_of_gpus;
    for (auto& [gpu, lines] : lines_by_gpu) {
        EXPECT_TRUE(lines.back().is_restore);
        lines.pop_back();
        std::vector<int> clocks;
        for (std::size_t i = 0; i < lines.size(); ++i) {
            clocks.push_back(lines[i].mhz);
            if (i > 0) {
                EXPECT_GE(lines[i].time - lines[i - 1].time, distance);
            }
        }
        clocks_of_gpus.insert(clocks);
    }
    std::set<std::vector<int>> expected;
    for (const std::vector<int>& step : stage_clocks()) {
        std::vector<int> clocks{highest_mhz};  // before the first step, to see whether it is allowed
        for (int i = 0; i < 2; ++i)
            for (const int mhz : step)
                if (mhz != clocks.back()) clocks.push_back(mhz);  // a clock that is set needs no call
        expected.insert(clocks);
    }
    EXPECT_EQ(clocks_of_gpus, expected);
    expect_restored(outcome);
}

TEST_F(PlannedClocks, AreRestoredAfterASignal) {
    const Outcome outcome = train({"", "sh signalled.sh TERM "}, "clocks.csv --steps 1000 --clock-every 0.02");

    EXPECT_EQ(outcome.code, 75) << outcome.err;
    expect_restored(outcome);
}

// Open MPI's launcher sends a signal to the other rank, which then restores both clocks.
TEST_F(PlannedClocks, AreRestoredIfARankIsKilled) {
    expect_restored(train({"", "sh signalled.sh KILL "}, "clocks.csv --steps 1000 --clock-every 0.02"));
}

TEST_F(PlannedClocks, AreRestoredIfTheDriverFails) {
    const Outcome outcome = train({"", "env NVML_STAND_IN_PLAY=lost_later "}, "clocks.csv --steps 1000");

    EXPECT_EQ(outcome.code, 3) << outcome.err;
    EXPECT_NE(outcome.err.find("the clock cannot be set during a step: the GPU at process "), std::string::npos)
        << outcome.err;
    expect_restored(outcome);
}

TEST_F(PlannedClocks, AreNotTouchedWithoutClockCells) {
    const Outcome outcome = train({"", ""}, "1f1b --steps 1");

    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_TRUE(read_log().empty()) << read("log");
}

TEST_F(PlannedClocks, AreRejectedIfTheyCannotBeSet) {
    const auto expect_refusal = [&](const std::string& more, const std::string& play,
                                    const std::string& sentence, int ranks = 0) {
        ::setenv("NVML_STAND_IN_PLAY", play.c_str(), 1);
        const Outcome outcome = run(options(more + " --steps 2"), ranks, on_emulated_gpu());
        EXPECT_EQ(outcome.code, 2) << outcome.err;
        EXPECT_EQ(sentences(outcome).size(), 1U) << outcome.err;
        EXPECT_FALSE(std::filesystem::exists(path("run")));
        EXPECT_NE(outcome.err.find(sentence), std::string::npos) << outcome.err;
    };
    write("one.csv", "CLOCK1200,0F0,0B0\n");
    write("odd.csv", "CLOCK1200,0F0,CLOCK1203,0B0\n");

    expect_refusal("one.csv --gpu-clock 1200", "well",
                   "--gpu-clock 1200 holds one clock, but one.csv sets clocks");
    expect_refusal("1f1b --energy envelope", "well",
                   "--energy envelope measures 20 clocks in the first 120 steps, but the run has only 2 steps; "
                   "train longer, or name measured costs with --clock-costs FILE");
    expect_refusal("1f1b --energy envelope --clock-costs costs.json", "well", "--clock-costs costs.json");
    expect_refusal("one.csv --clock-every 2 --stall-timeout 2", "well",
                   "--clock-every 2 is not below --stall-timeout 2");
    expect_refusal("one.csv", "no_permission",
                   "one.csv sets clocks, but this user may not set the clock of the");
    expect_refusal("one.csv --dry-run", "none",
                   "one.csv sets clocks, but those of the GPU of rank 0 are not known: ");
    expect_refusal(
        "one.csv", "not_supported",
        "one.csv sets clocks, but those of the GPU of rank 0 are not known: the driver does not list them");
    expect_refusal("odd.csv --dry-run", "well",
                   "CLOCK1203 in cell 3 of program 1 of odd.csv is not a clock of the device of rank 0; the "
                   "nearest one is 1200 MHz");
    ::unsetenv("TRIREME_EMULATED_GPU_EACH");
    expect_refusal("clocks.csv --pipe 2 --microbatches 5", "well",
                   "clocks.csv sets clocks, but 2 ranks share the GPU of rank 0", 2);
    EXPECT_TRUE(read_log().empty());
}

TEST_F(PlannedClocks, FollowDecisions) {
    write(
        "d.jsonl",
        R"({"step": 1, "layout": {"layers": 7, "stages": [{"layers": [0, 7], "replicas": [{"ranks": [0]}]}]}, )"
        R"("clocks": ["1200 1500"]})"
        "\n");

    const Outcome outcome = run(options("1f1b --steps 2 --decisions d.jsonl"), 0, on_emulated_gpu());

    ASSERT_EQ(outcome.code, 0) << outcome.err;
    std::vector<int> set_clocks;
    for (const ClockLine& line : read_log())
        if (!line.is_restore) set_clocks.push_back(line.mhz);
    EXPECT_EQ(set_clocks, (std::vector<int>{highest_mhz, 1200, 1500}));
}

// Each rank measures three clocks. Some steps are repeated if a rank seems to be slow for a while. The file
// with their costs then replaces the sweep.
TEST_F(PlannedClocks, FollowFromMeasuredCosts) {
    ::setenv("NVML_STAND_IN_LOWEST_MHZ", "1800", 1);
    const Outcome swept = train({"", ""}, "envpipe --steps 40 --energy envelope --reconfigure balanced");
    ASSERT_EQ(swept.code, 0) << swept.err;
    std::set<int> measured_clocks;
    for (const ClockLine& line : read_log()) measured_clocks.insert(line.mhz);
    for (const int mhz : {1980, 1890, 1800}) EXPECT_TRUE(measured_clocks.contains(mhz)) << mhz;
    EXPECT_NE(read("run/decisions.jsonl").find("the costs at 3 clocks are measured"), std::string::npos);

    std::filesystem::rename(path("run"), path("swept"));
    const Outcome again = train({"", ""},
                                "envpipe --steps 3 --energy envelope --reconfigure balanced --clock-costs "
                                "swept/clock_costs.json");
    EXPECT_EQ(again.code, 0) << again.err;
    EXPECT_FALSE(std::filesystem::exists(path("run/clock_costs.json")));
}

TEST_F(PlannedClocks, AreNotSetByADryRun) {
    write("one.csv", "CLOCK1200,0F0,0B0\n");

    EXPECT_EQ(run(options("one.csv --steps 1 --dry-run"), 0, on_emulated_gpu()).code, 0);

    EXPECT_TRUE(read_log().empty());
}

}  // namespace
}  // namespace trireme::messages
