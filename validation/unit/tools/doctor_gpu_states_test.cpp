#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "nvml_stand_in/play.hpp"
#include "tools/doctor/findings.hpp"
#include "unit/tools/doctor_facts.hpp"

namespace trireme::tools::doctor {
namespace {

using nlohmann::json;
using validation::first_gpu;
using validation::nvml_stand_in;
using validation::NvmlStandIn;
using validation::second_gpu;

const Gpu first{"H100", "GPU-aa", first_gpu};
const Gpu second{"H100", "GPU-bb", second_gpu};

// Returns facts of two ranks of a host that take one GPU each. The NVML stand-in plays `play`.
Facts make_two_gpu_facts(const char* play) {
    const NvmlStandIn playing(play);
    Facts facts = make_facts(1, 2);
    facts.has_cuda = true;
    for (RankFacts& rank : facts.ranks) {
        rank.gpus = {first, second};
        rank.gpu_states = read_gpu_states(rank.gpus, nvml_stand_in);
    }
    return facts;
}

TEST(GpuStates, AreReported) {
    const Facts facts = make_two_gpu_facts("well");

    EXPECT_EQ(finding(facts, "driver").text, "NVIDIA driver 550.54.15");
    EXPECT_EQ(finding(facts, "GPU state").status, Status::ok);
    EXPECT_EQ(finding(facts, "GPU state").text, "116 W of 700, 1755 MHz of 1980, 41 C, 0.6 GB used of 80.0");
    for (const char* name : {"GPU memory", "GPU clocks", "GPU power"})
        EXPECT_EQ(finding(facts, name).name, "none of that name");
    EXPECT_TRUE(is_everything_working(judge_facts(facts)));
}

TEST(GpuStates, CoverOnlyTheGpusThatRanksUse) {
    Facts facts = make_two_gpu_facts("well");
    facts.ranks[1].gpu_states[1].reading.celsius = 77;
    facts.ranks[0].gpu_states[1].reading.celsius = 99;  // rank 0 does not take it

    EXPECT_TRUE(has(finding(facts, "GPU state").text, "41 to 77 C")) << finding(facts, "GPU state").text;
}

TEST(GpuStates, AreMissingIfNvmlDoesNotStart) {
    const Facts facts = make_two_gpu_facts("none");

    EXPECT_EQ(finding(facts, "NVML").status, Status::missing);
    EXPECT_TRUE(has(finding(facts, "NVML").text, "does not start: Driver Not Loaded"));
    EXPECT_TRUE(has(finding(facts, "NVML").advice, "records contain no energy"));
    EXPECT_EQ(finding(facts, "GPU state").name, "none of that name");
    EXPECT_TRUE(is_everything_working(judge_facts(facts)));
}

TEST(GpuStates, ShowOnlySupportedReadings) {
    EXPECT_EQ(finding(make_two_gpu_facts("not_supported"), "GPU state").text, "1755 MHz, 41 C");
}

TEST(GpuStates, NameWhatSlowsARunDown) {
    const Facts facts = make_two_gpu_facts("hot");

    EXPECT_EQ(finding(facts, "GPU memory").text,
              "GPU-aa of n0: 20.0 GB are in use before anything runs; the same holds for 1 more GPU");
    EXPECT_EQ(finding(facts, "GPU clocks").text,
              "GPU-aa of n0: 900 MHz of at most 1980 MHz at 88 C; the same holds for 1 more GPU");
    EXPECT_EQ(
        finding(facts, "GPU power").text,
        "GPU-aa of n0: the power limit is 400 W, below the default of 700 W; the same holds for 1 more GPU");
    EXPECT_TRUE(has(finding(facts, "GPU power").advice, "nvidia-smi --power-limit=700"));
    EXPECT_TRUE(is_everything_working(judge_facts(facts)));
}

TEST(GpuStates, AreOmittedOnAMachineWithoutGpus) {
    EXPECT_EQ(finding(make_facts(1, 1), "driver").name, "none of that name");
    EXPECT_EQ(finding(make_facts(1, 1), "NVML").name, "none of that name");
}

TEST(GpuStates, AreUnknownForAGpuWithoutABusId) {
    const std::vector<GpuState> states = read_gpu_states({{"NVIDIA device", "2"}}, nvml_stand_in);

    EXPECT_EQ(states.front().complaint, "the PCI bus ID of GPU 2 is unknown");
}

TEST(GpuStates, SurviveConversionToJsonAndBack) {
    const RankFacts rank = make_two_gpu_facts("hot").ranks[0];

    const RankFacts again = parse_rank_facts(to_json(rank));

    EXPECT_EQ(again.gpus, rank.gpus);
    std::vector<GpuState> expected = rank.gpu_states;
    for (GpuState& state : expected)
        state.reading.joules.reset();  // energy since the driver was loaded, which is not written
    EXPECT_EQ(again.gpu_states, expected);
    const json gpu = json::parse(to_json(rank)).at("gpus").at(1);
    EXPECT_EQ(gpu.at("bus_id"), second_gpu);
    EXPECT_EQ(gpu.at("watts"), 115.501);
    EXPECT_EQ(gpu.at("default_power_limit_watts"), 700);
    EXPECT_EQ(gpu.at("driver"), "550.54.15");
}

TEST(CudaFacts, FillInWhatTheSystemHides) {
    std::vector<Gpu> gpus{{"NVIDIA device", "0"}, second};

    complete_from_cuda(gpus, {{.name = "H100", .bus_id = first_gpu}});
    EXPECT_EQ(gpus[0].bus_id, "");  // CUDA reports another number of GPUs

    complete_from_cuda(gpus, {{.name = "H100", .bus_id = first_gpu}, {.name = "other", .bus_id = first_gpu}});
    EXPECT_EQ(gpus, (std::vector<Gpu>{{"H100", "0", first_gpu}, second}));
}

TEST(GpuFinding, FailsIfCudaDoesNotStart) {
    Facts facts = make_two_gpu_facts("well");
    facts.ranks[1].cuda_complaint = "no NVIDIA driver was found";

    EXPECT_EQ(finding(facts, "GPUs").status, Status::fails);
    EXPECT_EQ(finding(facts, "GPUs").text, "n0: no NVIDIA driver was found");
    EXPECT_EQ(parse_rank_facts(to_json(facts.ranks[1])).cuda_complaint, "no NVIDIA driver was found");
}

}  // namespace
}  // namespace trireme::tools::doctor
