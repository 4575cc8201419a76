// Optimizer state that is offloaded to the memory of the host returns to the GPU unchanged.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "messages/program.hpp"
#include "scratch_folder.hpp"

namespace trireme::messages {
namespace {

struct Losses {
    std::vector<double> losses;
    int offloading_steps = 0;
};

class GpuOffload : public testing::Test {
protected:
    GpuOffload() {
        std::mt19937_64 random(6);
        std::string rows;
        for (int row = 0; row < 60; ++row)
            rows += nlohmann::json{{"text", std::string(100 + random() % 20, 'a')}}.dump() + "\n";
        folder_.write("rows.jsonl", rows);
        run("prepare rows.jsonl --tokenizer bytes --quiet --output corpus.h5", 0, 0);
    }

    void run(const std::string& command, int ranks, std::size_t program) {
        std::istringstream words(command);
        const std::vector<std::string> arguments{std::istream_iterator<std::string>(words), {}};
        const Outcome outcome = run_program(folder_.file(""), arguments, ranks, program);
        ASSERT_EQ(outcome.code, 0) << outcome.err;
    }

    Losses train(const std::string& options, const std::string& name) {
        run("train --corpus corpus.h5 --batch 4 --layers 2 --width 32 --heads 2 --positions 128 --steps 8 "
            "--device cuda --quiet --pipe 2 --microbatches 4 --schedule gpipe --run-dir " +
                name + ' ' + options,
            2, on_emulated_gpu());
        std::ifstream lines(folder_.file(name + "/steps.jsonl"));
        Losses found;
        for (std::string line; std::getline(lines, line);) {
            const nlohmann::json step = nlohmann::json::parse(line);
            if (!step.contains("loss")) continue;
            found.losses.push_back(step.at("loss"));
            found.offloading_steps += step.value("offloaded_bytes", 0) > 0 ? 1 : 0;
        }
        return found;
    }

    validation::ScratchFolder folder_;
};

TEST_F(GpuOffload, ChangesNoBit) {
    const Losses kept = train("", "kept");

    const Losses offloaded =
        train("--elastic length --elastic-means offload --memory-limit 20400000", "offloaded");

    EXPECT_EQ(kept.losses.size(), 8);
    EXPECT_EQ(offloaded.losses, kept.losses);
    EXPECT_GT(offloaded.offloading_steps, 0);
}

}  // namespace
}  // namespace trireme::messages
