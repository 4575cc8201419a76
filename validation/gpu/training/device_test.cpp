// Tests which device ranks use, and what they report about it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "messages/workplace.hpp"

namespace trireme::messages {
namespace {

class Device : public Workplace {
protected:
    Device() {
        ::setenv("CUDA_VISIBLE_DEVICES", "-1", 1);  // hides a real GPU
        make_corpus();
    }
    ~Device() override { ::unsetenv("CUDA_VISIBLE_DEVICES"); }

    static std::string command(const std::string& options) {
        return "train --corpus corpus.h5 --steps 2 --layers 1 --width 16 --heads 2 --max-length 16 --threads 1 "
               "--run-dir "
               "run " +
               options;
    }

    Outcome train_on_gpu(const std::string& options, int ranks = 0) const {
        return run(command(options), ranks, on_emulated_gpu());
    }

    std::string device_of_run() const { return nlohmann::json::parse(read("run/manifest.json")).at("device"); }
};

TEST_F(Device, IsTheGpuIfThereIsOne) {
    ASSERT_EQ(train_on_gpu("").code, 0);
    EXPECT_EQ(device_of_run(), "cuda (emulated GPU)");
}

TEST_F(Device, IsTheCpuIfRequested) {
    ASSERT_EQ(train_on_gpu("--device cpu").code, 0);
    EXPECT_TRUE(device_of_run().starts_with("cpu (")) << device_of_run();
}

TEST_F(Device, IsTheCpuWithoutAGpu) {
    ASSERT_EQ(run(command("")).code, 0);
    EXPECT_TRUE(device_of_run().starts_with("cpu (")) << device_of_run();
}

TEST_F(Device, IsRejectedIfCudaIsRequestedWithoutAGpu) {
    expect_refusal(command("--device cuda"), {"--device cuda needs a suitable GPU on every rank",
                                              "but rank 0 has none: ", "use --device cpu, or give each"});
    expect_refusal(command("--device cuda"), {"--device cuda needs a suitable GPU"}, 2);
}

TEST_F(Device, IsNamedInTheOutputIfRanksShareIt) {
    const Outcome outcome = train_on_gpu("--data 2", 2);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_NE(outcome.out.find(
                  "messages  staged through host memory: ranks 0 and 1 share emulated GPU 0000:01:00.0 of "),
              std::string::npos)
        << outcome.out;
}

// The emulated GPU has 8 GiB.
TEST_F(Device, IsRejectedIfItsMemoryIsTooSmall) {
    const Outcome outcome = train_on_gpu("--batch 1000000 --device cuda");
    EXPECT_EQ(outcome.code, 2);
    EXPECT_NE(outcome.err.find("emulated GPU 0000:01:00.0 of "), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find("use a smaller --batch"), std::string::npos) << outcome.err;
}

TEST_F(Device, IsProfiledIfItIsAGpu) {
    for (const char* dtype : {"f32", "bf16"}) {
        const Outcome outcome =
            run(words(std::string("profile --corpus corpus.h5 --layers 1 --width 16 --heads 2 --batch 1 "
                                  "--max-length 16 --repeat 1 --device cuda --output ") +
                      dtype + ".json --dtype " + dtype),
                0, on_emulated_gpu());
        ASSERT_EQ(outcome.code, 0) << outcome.err;
        const auto profile = nlohmann::json::parse(read(std::string(dtype) + ".json"));
        EXPECT_EQ(profile.at("device"), "cuda");
        EXPECT_EQ(profile.at("machine"), "emulated GPU");
        EXPECT_GT(profile.at("kernels").size(), 10U);
    }
}

TEST_F(Device, RejectsArtificialSlownessIfItIsAGpu) {
    const Outcome outcome = train_on_gpu("--slow rank=0,factor=2 --device cuda");
    EXPECT_EQ(outcome.code, 2);
    EXPECT_NE(outcome.err.find("--slow works on CPUs and simulated devices, not on GPUs"), std::string::npos)
        << outcome.err;
}

}  // namespace
}  // namespace trireme::messages
