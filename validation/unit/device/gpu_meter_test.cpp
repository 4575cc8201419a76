#include "trireme/device/gpu_meter.hpp"

#include <gtest/gtest.h>

#include "error_message.hpp"
#include "nvml_stand_in/play.hpp"
#include "trireme/base/error.hpp"

namespace trireme::device {
namespace {

using validation::catch_message;
using validation::first_gpu;
using validation::nvml_stand_in;
using validation::NvmlStandIn;
using validation::says;
using validation::second_gpu;

TEST(GpuMeter, ReadsTheValuesOfTheDriver) {
    const NvmlStandIn play;
    const GpuMeter meter(first_gpu, nvml_stand_in);

    const GpuReading reading = meter.read();

    EXPECT_EQ(meter.find_driver_version(), "550.54.15");
    EXPECT_EQ(reading.watts, 115.5);
    EXPECT_EQ(reading.clock_mhz, 1755);
    EXPECT_EQ(reading.memory_clock_mhz, 2619);
    EXPECT_EQ(reading.celsius, 41);
    EXPECT_EQ(reading.used_bytes, 600e6);
    EXPECT_EQ(reading.total_bytes, 80e9);
    EXPECT_EQ(reading.power_limit_watts, 700);
    EXPECT_EQ(meter.read_limits(), (GpuLimits{.default_power_limit_watts = 700, .highest_clock_mhz = 1980}));
}

TEST(GpuMeter, CountsJoulesOfItsOwnGpu) {
    const NvmlStandIn play;
    const GpuMeter first(first_gpu, nvml_stand_in);
    const GpuMeter second(second_gpu, nvml_stand_in);

    const double before = first.read_joules().value();
    EXPECT_EQ(first.read_joules().value() - before, 2);
    const double before_of_second = second.read_joules().value();
    EXPECT_EQ(second.read_joules().value() - before_of_second, 3);
    EXPECT_GT(before, 5000);
}

TEST(GpuMeter, OmitsUnsupportedValues) {
    const NvmlStandIn play("not_supported");
    const GpuMeter meter(first_gpu, nvml_stand_in);

    EXPECT_EQ(meter.read(), (GpuReading{.clock_mhz = 1755, .memory_clock_mhz = 2619, .celsius = 41}));
    EXPECT_EQ(meter.read_limits(), GpuLimits());
    EXPECT_TRUE(meter.list_clocks().empty());
}

TEST(GpuMeter, ReadsNothingFromALostGpu) {
    NvmlStandIn play;
    GpuMeter meter(first_gpu, nvml_stand_in);
    play.change("lost");

    EXPECT_EQ(meter.read(), GpuReading());
    EXPECT_FALSE(meter.restore_clock());
    const std::string message = catch_message<ResourceError>([&] { meter.set_clock(1200); });
    EXPECT_TRUE(says(message, "the GPU at 0000:01:00.0 does not answer: GPU is lost"));
}

TEST(GpuMeter, KeepsWorkingAfterADifferentMeterCloses) {
    const NvmlStandIn play;
    const GpuMeter meter(first_gpu, nvml_stand_in);
    { const GpuMeter other(second_gpu, nvml_stand_in); }

    EXPECT_EQ(meter.read().celsius, 41);
}

TEST(GpuMeterSearch, SaysWhyItFindsNoMeter) {
    const NvmlStandIn play("none");

    const GpuMeterSearch without_library = find_gpu_meter(first_gpu, "/nowhere/libnvidia-ml.so.1");
    EXPECT_FALSE(without_library.meter);
    EXPECT_TRUE(says(without_library.complaint, "needs /nowhere/libnvidia-ml.so.1, which was not found"));
    EXPECT_TRUE(says(find_gpu_meter(first_gpu, nvml_stand_in).complaint,
                     "does not start: Driver Not Loaded; check whether nvidia-smi works"));
}

TEST(GpuMeterSearch, NamesAMissingGpu) {
    const NvmlStandIn play;

    EXPECT_TRUE(says(find_gpu_meter("0000:99:00.0", nvml_stand_in).complaint,
                     "finds no GPU at 0000:99:00.0: Not Found"));
}

TEST(GpuClock, IsLockedAndReleased) {
    const NvmlStandIn play;
    GpuMeter meter(second_gpu, nvml_stand_in);

    meter.set_clock(1200);
    EXPECT_TRUE(meter.restore_clock());

    EXPECT_EQ(play.log(), "hold 0000:65:00.0 1200 1200\ngive back 0000:65:00.0\n");
}

TEST(GpuClock, IsRejectedIfTheGpuDoesNotSupportIt) {
    const NvmlStandIn play;
    const GpuMeter meter(first_gpu, nvml_stand_in);
    const auto complaint = [&](int mhz) { return catch_message<ConfigError>([&] { meter.check_clock(mhz); }); };

    EXPECT_EQ(meter.list_clocks().size(), 119U);
    EXPECT_EQ(meter.list_clocks().front(), (ClockState{.mhz = 1980, .speed = 1}));
    EXPECT_EQ(meter.list_clocks().back(), (ClockState{.mhz = 210, .speed = 210 / 1980.0}));
    EXPECT_EQ(
        complaint(1203),
        "the GPU at 0000:01:00.0 does not support a clock of 1203 MHz; of its 119 clocks from 210 to 1980 "
        "MHz, the nearest are 1200 and 1215 MHz");
    EXPECT_TRUE(says(complaint(100), "of its 119 clocks from 210 to 1980 MHz, the nearest is 210 MHz"));
    EXPECT_TRUE(says(complaint(5000), "is 1980 MHz"));
    EXPECT_EQ(play.log(), "");
}

TEST(GpuClock, IsRejectedWithoutPermission) {
    const NvmlStandIn play("no_permission");
    GpuMeter meter(first_gpu, nvml_stand_in);

    const std::string message = catch_message<ConfigError>([&] { meter.set_clock(1200); });

    EXPECT_TRUE(
        says(message,
             "this user may not set the clock of the GPU at 0000:01:00.0, because NVML demands root or "
             "CAP_SYS_ADMIN; ask an administrator for this capability, or for a fixed clock (nvidia-smi "
             "--lock-gpu-clocks=1200), or use srun --gpu-freq=1200 if the cluster allows it"));
    EXPECT_TRUE(says(message,
                     "a run changes no clocks without --gpu-clock, --energy, CLOCK cells and decisions with "
                     "\"clocks\""));
}

TEST(GpuClock, IsRejectedIfTheGpuHasNoClocksToSet) {
    const NvmlStandIn play("not_supported");
    GpuMeter meter(first_gpu, nvml_stand_in);

    EXPECT_TRUE(says(catch_message<ConfigError>([&] { meter.set_clock(1200); }),
                     "the GPU at 0000:01:00.0 does not support a clock of 1200 MHz: Not Supported"));
}

}  // namespace
}  // namespace trireme::device
