// Runs the kernel tests on a real GPU. Without one they are skipped with exit code 77.
#include <gtest/gtest.h>

#include <cstdio>

#include "emulated_gpu/order.hpp"
#include "trireme/device/gpu.hpp"

// A real GPU chooses the order of its threads itself.
void trireme::emulated::shuffle_threads(std::uint64_t /*seed*/) {}

int main(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
    const trireme::device::GpuSearch search = trireme::device::find_gpus();
    if (search.gpus.empty()) {
        std::printf("skipped: %s\n", search.complaint.c_str());
        constexpr int skipped = 77;
        return skipped;
    }
    trireme::device::select_gpu(search.gpus.front().number);
    std::printf("on %s\n", search.gpus.front().name.c_str());
    return RUN_ALL_TESTS();
}
