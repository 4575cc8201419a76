#include "trireme/rank/step_energy.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace trireme::rank {
namespace {

using records::EnergyPhases;

class MeteredDevice final : public device::ClockedDevice {
public:
    std::vector<device::ClockState> list_clocks() const override { return {}; }
    void set_clock(int) override {}
    bool restore_clock() noexcept override { return true; }
    std::optional<double> read_joules() const override { return joules; }

    double joules = 1000;
};

class MeteredSteps : public ::testing::Test {
protected:
    std::shared_ptr<MeteredDevice> device_ = std::make_shared<MeteredDevice>();
    StepEnergy energy_{device_};
};

TEST_F(MeteredSteps, ConsumeWhatIsNeitherKernelsNorWaitsWhileIdle) {
    energy_.begin();
    device_->joules += 10;

    EXPECT_EQ(energy_.take({.kernel_joules = 7, .wait_joules = 2}),
              (EnergyPhases{.compute = 7, .blocked = 2, .idle = 1}));
}

TEST_F(MeteredSteps, WaitAfterTheirRecordAndBeforeTheirEnd) {
    energy_.begin();
    energy_.take({});
    device_->joules += 4;
    energy_.end();
    device_->joules += 100;  // between two steps
    energy_.begin();
    device_->joules += 10;

    EXPECT_EQ(energy_.take({.kernel_joules = 10}), (EnergyPhases{.compute = 10, .blocked = 4}));

    device_->joules += 3;
    energy_.end();
    device_->joules += 2;
    EXPECT_EQ(energy_.take_rest(), 5);
    EXPECT_EQ(energy_.take_rest(), 0);
}

TEST(StepEnergy, IsNanWithoutAMeter) {
    StepEnergy energy(nullptr);
    energy.begin();

    EXPECT_TRUE(std::isnan(energy.take({}).sum()));
    EXPECT_TRUE(std::isnan(energy.take_rest()));
}

// Kernels run for six of ten seconds, and the rank waits for three.
TEST(StepEnergy, IsDividedByTheWattsOfWaiting) {
    const StepPhases phases{.seconds = 10, .kernel_seconds = 6, .wait_seconds = 3};

    EXPECT_EQ(derive_energy_phases(1000, 50, phases),
              (EnergyPhases{.compute = 800, .blocked = 150, .idle = 50}));
    // The rank waits for four seconds, in three of which its GPU executes kernels.
    EXPECT_EQ(derive_energy_phases(1000, 50, {.seconds = 10, .kernel_seconds = 9, .wait_seconds = 4}),
              (EnergyPhases{.compute = 950, .blocked = 50}));
    // The counter has not advanced far enough.
    EXPECT_EQ(derive_energy_phases(100, 50, phases), (EnergyPhases{.compute = 0, .blocked = 75, .idle = 25}));

    auto device = std::make_shared<MeteredDevice>();
    StepEnergy energy(device, 50);
    energy.begin();
    device->joules += 900;
    energy.take(phases);
    device->joules += 100;
    energy.end();
    energy.begin();
    device->joules += 900;
    EXPECT_EQ(energy.take(phases), (EnergyPhases{.compute = 700, .blocked = 250, .idle = 50}));
}

}  // namespace
}  // namespace trireme::rank
