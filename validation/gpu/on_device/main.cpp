// The tests of kernels on the GPU that is there. Where there is none they are skipped, which is exit code 77.
#include <gtest/gtest.h>

#include <cstdio>

#include "emulated_gpu/order.hpp"
#include "trireme/device/gpu.hpp"

// A real GPU runs its threads in orders of its own.
void trireme::emulated::shuffle_threads(std::uint64_t /*seed*/) {}

int main(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
    const trireme::device::GpuSearch search = trireme::device::find_gpus();
    if (search.gpus.empty()) {
        std::printf("skipped: %s\n", search.complaint.c_str());
        constexpr int skipped = 77;
        return skipped;
    }
    trireme::device::use_gpu(search.gpus.front().number);
    std::printf("on %s\n", search.gpus.front().name.c_str());
    return RUN_ALL_TESTS();
}
