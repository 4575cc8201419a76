#include "trireme/rank/rank_gpu.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>

#include "error_message.hpp"
#include "nvml_stand_in/play.hpp"
#include "trireme/base/error.hpp"
#include "trireme/rank/step_energy.hpp"
#include "trireme/records/step_outcome.hpp"

namespace trireme::rank {
namespace {

using validation::first_gpu;
using validation::message_of;
using validation::nvml_stand_in;
using validation::NvmlPlay;
using validation::says;
using validation::second_gpu;

constexpr SamplePeriods none{.joules = 0, .state = 0};

// On the first of two nodes, ranks 0 and 1 share a GPU and rank 2 has another. On the second, rank 3 is alone.
GpusOfRanks four_ranks(int rank) {
    return {.rank = rank, .nodes = {0, 0, 0, 3}, .bus_ids = {first_gpu, first_gpu, second_gpu, first_gpu}};
}

TEST(RankGpu, HasItsPartOfWhatRanksShare) {
    const NvmlPlay play;
    RankGpu shared(four_ranks(1), nvml_stand_in, none);
    RankGpu own(four_ranks(2), nvml_stand_in, none);

    EXPECT_EQ(shared.sharers(), (std::vector<int>{2, 2, 1, 1}));
    const double before = shared.joules().value();
    EXPECT_EQ(shared.joules().value() - before, 1);  // half of two joules
    const double before_of_own = own.joules().value();
    EXPECT_EQ(own.joules().value() - before_of_own, 3);
    EXPECT_EQ(shared.state().watts, 115.5);  // of the whole GPU
}

TEST(RankGpu, AsksTheDriverNowAndThen) {
    const NvmlPlay play;
    RankGpu gpu(four_ranks(0), nvml_stand_in, {.joules = 1e6, .state = 1e6});

    const std::optional<double> joules = gpu.joules();
    const device::GpuReading state = gpu.state();

    EXPECT_EQ(gpu.joules(), joules);
    EXPECT_EQ(gpu.state(), state);
}

TEST(RankGpu, IsMeasuredInItsSteps) {
    const NvmlPlay play;
    RankGpu gpu(four_ranks(3), nvml_stand_in, none);
    StepEnergy energy(&gpu);

    energy.begin();
    energy.look();
    gpu.joules();  // a reading between steps, which does not count
    energy.begin();

    EXPECT_EQ(energy.take(), 4);  // two readings of two joules each
}

TEST(RankGpu, IsNotMeasuredWhereTheDriverDoesNotTell) {
    const NvmlPlay play("not_supported");
    RankGpu untold(four_ranks(0), nvml_stand_in);
    RankGpu without_library(four_ranks(0), "/nowhere/libnvidia-ml.so.1");
    StepEnergy energy(&untold);
    energy.begin();

    EXPECT_TRUE(std::isnan(energy.take()));
    EXPECT_EQ(without_library.joules(), std::nullopt);
    EXPECT_EQ(without_library.state(), device::GpuReading());
    EXPECT_EQ(without_library.driver(), "");
    EXPECT_TRUE(says(message_of<ConfigError>([&] { without_library.hold_clock(1200); }),
                     "--gpu-clock 1200 cannot be set on rank 0: looking after a GPU needs /nowhere/"));
}

TEST(GpuClockOfRank, IsSetByTheFirstOfThoseThatShare) {
    const NvmlPlay play;
    {
        RankGpu first(four_ranks(0), nvml_stand_in);
        RankGpu second(four_ranks(1), nvml_stand_in);
        first.hold_clock(1200);
        second.hold_clock(1200);
        EXPECT_EQ(play.log(), "hold 0000:01:00.0 1200 1200\n");
    }
    EXPECT_EQ(play.log(), "hold 0000:01:00.0 1200 1200\ngive back 0000:01:00.0\n");
}

TEST(GpuClockOfRank, IsLeftAloneByARunThatHoldsNone) {
    const NvmlPlay play;
    { RankGpu gpu(four_ranks(0), nvml_stand_in); }
    {
        RankGpu gpu(four_ranks(0), nvml_stand_in);
        gpu.check_clock(1200);
        EXPECT_THROW(gpu.hold_clock(1203), ConfigError);
    }

    EXPECT_EQ(play.log(), "");
}

// A failing rank resets all clocks of its node, since other ranks may be killed before they can.
TEST(GpuClockOfRank, IsGivenBackForTheNodeWhereARunFails) {
    const NvmlPlay play;

    EXPECT_THROW(
        {
            RankGpu gpu(four_ranks(2), nvml_stand_in);
            gpu.hold_clock(1200);
            gpu.let_go_at(nullptr);
            throw BugError("something");
        },
        BugError);

    EXPECT_TRUE(says(play.log(), "give back 0000:65:00.0\ngive back 0000:01:00.0\n"));
}

TEST(GpuClockOfRank, IsGivenBackAtTheFirstSignal) {
    const NvmlPlay play;
    device::StopSignals signals;
    RankGpu gpu(four_ranks(0), nvml_stand_in);
    gpu.hold_clock(1200);
    gpu.let_go_at(&signals);

    ::kill(::getpid(), SIGTERM);
    for (int i = 0; i < 10'000 && play.log().find("65:00.0") == std::string::npos; ++i) ::usleep(1000);

    EXPECT_EQ(play.log(), "hold 0000:01:00.0 1200 1200\ngive back 0000:01:00.0\ngive back 0000:65:00.0\n");
}

std::vector<double> said_by(RankGpu* gpu) {
    std::vector<double> own(records::fields_of_record(device::MemorySpace::gpu));
    say_state_of(gpu, own);
    return own;
}

comm::Gathered of_two(const std::vector<double>& first, const std::vector<double>& second) {
    std::vector<double> values = first;
    values.insert(values.end(), second.begin(), second.end());
    return comm::Gathered(std::move(values), first.size());
}

TEST(StepOutcome, HasTheStatesThatAllRanksTell) {
    NvmlPlay play;
    RankGpu first(four_ranks(0), nvml_stand_in, none);
    RankGpu second(four_ranks(2), nvml_stand_in, none);
    const std::vector<double> all = said_by(&first);
    play.change("not_supported");
    const std::vector<double> some = said_by(&second);
    records::StepOutcome outcome{.size = {.tokens = 1, .targets = 1}};

    add_records(of_two(all, some), outcome);

    EXPECT_EQ(outcome.gpus.clock_mhz, (std::vector<double>{1755, 1755}));
    EXPECT_EQ(outcome.gpus.celsius, (std::vector<double>{41, 41}));
    EXPECT_TRUE(outcome.gpus.watts.empty());
    EXPECT_TRUE(outcome.gpus.used_bytes.empty());

    records::StepOutcome of_no_meter{.size = {.tokens = 1, .targets = 1}};
    add_records(of_two(said_by(nullptr), all), of_no_meter);
    EXPECT_TRUE(of_no_meter.gpus.clock_mhz.empty());

    records::StepOutcome on_processors{.size = {.tokens = 1, .targets = 1}};
    const std::vector<double> plain(records::fields_of_record(device::MemorySpace::host));
    add_records(of_two(plain, plain), on_processors);
    EXPECT_TRUE(on_processors.gpus.clock_mhz.empty());
    EXPECT_EQ(on_processors.joules_of_ranks, (std::vector<double>{0, 0}));
}

}  // namespace
}  // namespace trireme::rank
