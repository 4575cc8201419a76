// Runs the GPU benchmarks on an emulated GPU, and checks what their figures consist of.
#include <gtest/gtest.h>

#include "emulated_gpu/queue.hpp"
#include "gpu/measurements.hpp"
#include "trireme/device/clock.hpp"
#include "trireme/kernels/gpu_stream.hpp"

namespace trireme::perf {
namespace {

constexpr Rounds quick{.count = 3, .round_seconds = 0, .warm_up_seconds = 0, .operand_bytes = 100000};

void expect_rate(const Json& json, const char* name) {
    ASSERT_TRUE(json.contains(name)) << json.dump();
    EXPECT_GT(json.at(name).get<double>(), 0) << json.dump();
}

TEST(GpuTiming, NumbersCallsFromZeroIncludingTheWarmUp) {
    device::Stream stream = kernels::make_gpu_stream();
    std::vector<std::size_t> calls;

    const Timing timing = time_on_gpu(stream, quick, [&](std::size_t call) { calls.push_back(call); });

    EXPECT_EQ(calls, (std::vector<std::size_t>{0, 1, 2, 3}));  // one warm-up call
    EXPECT_EQ(timing.calls, 1);
}

TEST(GpuTiming, FitsTheCallsOfARoundIntoItsSeconds) {
    constexpr double call_seconds = 0.001, round_seconds = 0.004;
    device::Stream stream = kernels::make_gpu_stream();
    const auto work = [&](std::size_t) {
        emulated::submit_job(queue_of(stream), [] {
            for (const double begin = device::now_seconds(); device::now_seconds() - begin < call_seconds;)
                continue;
        });
    };

    const Timing timing =
        time_on_gpu(stream, {.count = 3, .round_seconds = round_seconds, .warm_up_seconds = 0}, work);

    EXPECT_LE(timing.calls, 4);
    EXPECT_GE(timing.least, call_seconds);
    EXPECT_LE(timing.least, timing.median);
    EXPECT_LE(timing.median, timing.most);
}

TEST(GpuTiming, WaitsForEachCallOfRoundTrips) {
    device::Stream stream = kernels::make_gpu_stream();
    std::size_t done = 0;

    time_round_trips(stream, quick, [&](std::size_t call) {
        EXPECT_EQ(done, call);
        emulated::submit_job(queue_of(stream), [&] { ++done; });
    });

    EXPECT_EQ(done, 4);
}

TEST(GpuRates, IncludeCopiesKernelStartsAndProjectionMatmuls) {
    device::Stream stream = kernels::make_gpu_stream();
    const RatesWork work{
        .rounds = quick,
        .copies = {.within_bytes = 4096, .outside_bytes = 1024},
        .side = 64,
        .projections = {{"tiny", "up", 16, 64, 96}, {"tiny", "head", 16, 64, 200, kernels::WeightAxes::out_in}},
        .fused_cases = {{"tiny", 8, 16}}};

    const Json rates = measure_rates(stream, work);

    expect_rate(rates.at("gemm"), "flops_per_s");
    for (const char* copy : {"within_the_gpu", "to_the_gpu", "from_the_gpu"})
        expect_rate(rates.at("copies").at(copy), "bytes_per_s");
    for (const char* start : {"one_behind_the_other", "waited_for"})
        expect_rate(rates.at("starts").at(start), "median_s");
    ASSERT_EQ(rates.at("products").size(), 6);
    for (const Json& matmul : rates.at("products")) {
        expect_rate(matmul, "flops_per_s");
        EXPECT_DOUBLE_EQ(
            matmul.at("share").get<double>(),
            matmul.at("flops_per_s").get<double>() / rates.at("gemm").at("flops_per_s").get<double>());
    }
    ASSERT_EQ(rates.at("joined").size(), 2);
    for (const Json& times : rates.at("joined")) {
        for (const char* time : {"plain_s", "joined_s", "apart_s"}) expect_rate(times, time);
    }
}

TEST(GpuAttention, IsMeasuredForwardAndBackwardRelativeToMatmuls) {
    device::Stream stream = kernels::make_gpu_stream();
    const AttentionWork work{.rounds = quick, .side = 64, .cases = {{"tiny", 2, 32, 4, 2, 16}}};

    const Json attention = measure_attention(stream, work);

    ASSERT_EQ(attention.at("cases").size(), 1);
    for (const char* pass : {"forward", "backward"}) {
        const Json& one = attention.at("cases").front().at(pass);
        constexpr double pairs = 2 * 32 * 33 / 2, channels = 4 * 16;
        const double matmuls = std::string_view(pass) == "forward" ? 2 : 5;
        EXPECT_DOUBLE_EQ(one.at("flops_per_s").get<double>() * one.at("median_s").get<double>(),
                         matmuls * 2 * pairs * channels);
        expect_rate(one, "share");
    }
}

// The projections have the tokens and channels of check.sh's models.
TEST(GpuRates, CoverTheProjectionsOfThreeModels) {
    std::vector<std::string> models;
    for (const Projection& projection : list_model_projections()) {
        if (models.empty() || models.back() != projection.model) models.push_back(projection.model);
        EXPECT_EQ(projection.rows % 1024, 0);
    }

    EXPECT_EQ(models, (std::vector<std::string>{"gpt2", "gpt2-medium", "llama-1b"}));
}

}  // namespace
}  // namespace trireme::perf
