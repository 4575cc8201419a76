#include "device/affinity.hpp"

#include <gtest/gtest.h>

#include "trireme/device/machine.hpp"

namespace trireme::device {
namespace {

TEST(Affinity, IsReadOnMachinesWithMoreThan1024Cpus) {
    constexpr std::size_t cpus = 4096;
    std::vector<std::size_t> asked;

    const std::vector<int> cores = list_cores_in_mask([&](std::size_t bytes, cpu_set_t* mask) {
        asked.push_back(bytes);
        if (bytes * 8 < cpus) return false;
        for (const int core : {3, 1023, 1024, 4095}) CPU_SET_S(core, bytes, mask);
        return true;
    });

    EXPECT_EQ(cores, (std::vector<int>{3, 1023, 1024, 4095}));
    EXPECT_EQ(asked, (std::vector<std::size_t>{128, 256, 512}));
}

TEST(Affinity, IsCpu0IfNoMaskIsLargeEnough) {
    EXPECT_EQ(list_cores_in_mask([](std::size_t, cpu_set_t*) { return false; }), std::vector<int>{0});
}

TEST(Affinity, ListsCoresOfThisMachine) {
    const std::vector<int> cores = list_usable_cores();

    ASSERT_FALSE(cores.empty());
    EXPECT_GE(cores.front(), 0);
    EXPECT_LE(cores.size(), static_cast<std::size_t>(max_threads()));
}

}  // namespace
}  // namespace trireme::device
