// Optimizer state that is offloaded to the memory of the host returns to the GPU unchanged, and the GPU never
// holds more than the limit.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "messages/program.hpp"
#include "scratch_folder.hpp"

namespace trireme::messages {
namespace {

struct Trained {
    std::vector<double> losses;
    int offloading_steps = 0;
    std::size_t growth_bytes = 0;
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

    Trained train(const std::string& options, const std::string& name) {
        run("train --corpus corpus.h5 --batch 4 --layers 2 --width 32 --heads 2 --positions 128 --steps 5 "
            "--device cuda --quiet --pipe 2 --microbatches 4 --schedule gpipe --run-dir " +
                name + ' ' + options,
            2, on_emulated_gpu());
        std::ifstream lines(folder_.file(name + "/steps.jsonl"));
        Trained found;
        for (std::string line; std::getline(lines, line);) {
            const nlohmann::json step = nlohmann::json::parse(line);
            if (!step.contains("loss")) continue;
            found.losses.push_back(step.at("loss"));
            found.offloading_steps += step.value("offloaded_bytes", 0) > 0 ? 1 : 0;
        }
        const nlohmann::json summary =
            nlohmann::json::parse(validation::read_whole(folder_.file(name + "/summary.json")));
        found.growth_bytes = summary.at("memory_bytes").at("growth");
        return found;
    }

    validation::ScratchFolder folder_;
};

TEST_F(GpuOffload, ChangesNoBit) {
    for (const auto& [dtype, limit] : {std::pair{"f32", 20'400'000U}, {"bf16", 19'800'000U}}) {
        const std::string options = std::string("--dtype ") + dtype;
        const Trained kept = train(options, std::string("kept-") + dtype);

        const Trained offloaded =
            train(options + " --elastic length --elastic-means offload --memory-limit " + std::to_string(limit),
                  std::string("offloaded-") + dtype);

        SCOPED_TRACE(dtype);
        EXPECT_EQ(kept.losses.size(), 5);
        EXPECT_GT(kept.growth_bytes, limit);
        EXPECT_EQ(offloaded.losses, kept.losses);
        EXPECT_GT(offloaded.offloading_steps, 0);
        EXPECT_LE(offloaded.growth_bytes, limit);
    }
}

}  // namespace
}  // namespace trireme::messages
