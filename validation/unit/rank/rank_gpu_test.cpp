#include "trireme/rank/rank_gpu.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>

#include "error_message.hpp"
#include "nvml_stand_in/play.hpp"
#include "trireme/base/error.hpp"
#include "trireme/rank/step_energy.hpp"
#include "trireme/rank/step_record.hpp"
#include "trireme/records/step_outcome.hpp"

namespace trireme::rank {
namespace {

using validation::catch_message;
using validation::first_gpu;
using validation::nvml_stand_in;
using validation::NvmlStandIn;
using validation::says;
using validation::second_gpu;

constexpr SamplePeriods none{.energy = 0, .state = 0};

// On the first of two nodes, ranks 0 and 1 share a GPU and rank 2 has another. On the second, rank 3 is alone.
GpusOfRanks four_ranks(int rank) {
    return {.rank = rank, .nodes = {0, 0, 0, 3}, .bus_ids = {first_gpu, first_gpu, second_gpu, first_gpu}};
}

TEST(RankGpu, SplitsTheEnergyBetweenRanksThatShareAGpu) {
    const NvmlStandIn play;
    RankGpu shared(four_ranks(1), nvml_stand_in, none);
    RankGpu own(four_ranks(2), nvml_stand_in, none);

    EXPECT_EQ(shared.sharer_counts(), (std::vector<int>{2, 2, 1, 1}));
    const double before = shared.read_joules().value();
    EXPECT_EQ(shared.read_joules().value() - before, 1);  // half of two joules
    const double before_of_own = own.read_joules().value();
    EXPECT_EQ(own.read_joules().value() - before_of_own, 3);
    EXPECT_EQ(shared.state().watts, 115.5);  // of the whole GPU
}

TEST(RankGpu, QueriesTheDriverOncePerPeriod) {
    const NvmlStandIn play;
    RankGpu gpu(four_ranks(0), nvml_stand_in, {.energy = 1e6, .state = 1e6});

    const std::optional<double> joules = gpu.read_joules();
    const device::GpuReading state = gpu.state();

    EXPECT_EQ(gpu.read_joules(), joules);
    EXPECT_EQ(gpu.state(), state);
}

TEST(RankGpu, MeasuresEnergyOnlyDuringSteps) {
    const NvmlStandIn play;
    const auto gpu = std::make_shared<RankGpu>(four_ranks(3), nvml_stand_in, none);
    StepEnergy energy(gpu);

    energy.begin();
    energy.end();
    gpu->read_joules();  // a reading between steps, which does not count
    energy.begin();

    EXPECT_EQ(energy.take({}).sum(), 4);  // two readings of two joules each
}

TEST(RankGpu, HasNoReadingsWithoutDriverSupport) {
    const NvmlStandIn play("not_supported");
    const auto unsupported = std::make_shared<RankGpu>(four_ranks(0), nvml_stand_in);
    RankGpu without_library(four_ranks(0), "/nowhere/libnvidia-ml.so.1");
    StepEnergy energy(unsupported);
    energy.begin();

    EXPECT_TRUE(std::isnan(energy.take({}).sum()));
    EXPECT_EQ(without_library.read_joules(), std::nullopt);
    EXPECT_EQ(without_library.state(), device::GpuReading());
    EXPECT_EQ(without_library.driver(), "");
    EXPECT_TRUE(
        says(catch_message<ConfigError>([&] { without_library.require_meter("--gpu-clock 1200"); }),
             "--gpu-clock 1200 cannot be set on rank 0: access to a GPU's clocks and power needs /nowhere/"));
}

TEST(GpuClockOfRank, IsSetByTheFirstRankThatSharesTheGpu) {
    const NvmlStandIn play;
    {
        RankGpu first(four_ranks(0), nvml_stand_in);
        RankGpu second(four_ranks(1), nvml_stand_in);
        first.set_clock(1200);
        second.set_clock(1200);
        EXPECT_EQ(play.log(), "hold 0000:01:00.0 1200 1200\n");
    }
    EXPECT_EQ(play.log(), "hold 0000:01:00.0 1200 1200\ngive back 0000:01:00.0\n");
}

TEST(GpuClockOfRank, IsUnchangedByRunsThatDoNotSetIt) {
    const NvmlStandIn play;
    { RankGpu gpu(four_ranks(0), nvml_stand_in); }
    {
        RankGpu gpu(four_ranks(0), nvml_stand_in);
        gpu.require_meter("--gpu-clock 1200").check_clock(1200);
    }

    EXPECT_EQ(play.log(), "");
}

// A failing rank resets all clocks of its node, since other ranks may be killed before they can.
TEST(GpuClockOfRank, IsResetOnTheWholeNodeIfARunFails) {
    const NvmlStandIn play;

    EXPECT_THROW(
        {
            RankGpu gpu(four_ranks(2), nvml_stand_in);
            gpu.set_clock(1200);
            gpu.restore_clocks_on(nullptr);
            throw BugError("something");
        },
        BugError);

    EXPECT_TRUE(says(play.log(), "give back 0000:65:00.0\ngive back 0000:01:00.0\n"));
}

TEST(GpuClockOfRank, IsResetAtTheFirstSignal) {
    const NvmlStandIn play;
    device::StopSignals signals;
    RankGpu gpu(four_ranks(0), nvml_stand_in);
    gpu.set_clock(1200);
    gpu.restore_clocks_on(&signals);

    ::kill(::getpid(), SIGTERM);
    for (int i = 0; i < 10'000 && play.log().find("65:00.0") == std::string::npos; ++i) ::usleep(1000);

    EXPECT_EQ(play.log(), "hold 0000:01:00.0 1200 1200\ngive back 0000:01:00.0\ngive back 0000:65:00.0\n");
}

std::vector<double> said_by(RankGpu* gpu) {
    std::vector<double> own(records::count_record_fields(device::MemorySpace::gpu));
    record_gpu_state(gpu, own);
    return own;
}

comm::GatheredNumbers of_two(const std::vector<double>& first, const std::vector<double>& second) {
    std::vector<double> values = first;
    values.insert(values.end(), second.begin(), second.end());
    return comm::GatheredNumbers(std::move(values), first.size());
}

TEST(StepOutcome, ContainsOnlyGpuStatesThatAllRanksReport) {
    NvmlStandIn play;
    RankGpu first(four_ranks(0), nvml_stand_in, none);
    RankGpu second(four_ranks(2), nvml_stand_in, none);
    const std::vector<double> all = said_by(&first);
    play.change("not_supported");
    const std::vector<double> some = said_by(&second);
    records::StepOutcome outcome{.size = {.tokens = 1, .targets = 1}};

    add_records(of_two(all, some), device::MemorySpace::gpu, outcome);

    EXPECT_EQ(outcome.gpus.clock_mhz, (std::vector<double>{1755, 1755}));
    EXPECT_EQ(outcome.gpus.celsius, (std::vector<double>{41, 41}));
    EXPECT_TRUE(outcome.gpus.watts.empty());
    EXPECT_TRUE(outcome.gpus.used_bytes.empty());

    records::StepOutcome without_meter{.size = {.tokens = 1, .targets = 1}};
    add_records(of_two(said_by(nullptr), all), device::MemorySpace::gpu, without_meter);
    EXPECT_TRUE(without_meter.gpus.clock_mhz.empty());

    records::StepOutcome on_processors{.size = {.tokens = 1, .targets = 1}};
    const std::vector<double> plain(records::count_record_fields(device::MemorySpace::host));
    add_records(of_two(plain, plain), device::MemorySpace::host, on_processors);
    EXPECT_TRUE(on_processors.gpus.clock_mhz.empty());
    EXPECT_EQ(on_processors.energy_of_ranks, std::vector<records::EnergyPhases>(2));
}

}  // namespace
}  // namespace trireme::rank
