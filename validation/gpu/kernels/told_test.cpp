// Tests the lists that kernels receive in addition to their tensors.
#include <gtest/gtest.h>

#include <vector>

#include "kernels/cuda/support/gpu_work.hpp"
#include "trireme/device/buffer.hpp"
#include "trireme/kernels/gpu_stream.hpp"

namespace trireme {
namespace {

std::vector<std::int32_t> read(const std::int32_t* told, std::size_t count) {
    std::vector<std::int32_t> numbers(count);
    copy_rows(device::ConstTensor{told, device::DType::i32, 1, count, count, device::MemorySpace::gpu},
              device::Tensor{numbers.data(), device::DType::i32, 1, count, count});
    return numbers;
}

// Both lists are complete, whatever was passed before, and even if the buffer is full between the two.
TEST(Told, AKernelFindsBothListsThatItIsTold) {
    device::Stream stream = kernels::gpu_stream();
    kernels::GpuWork& work = *std::get<device::CudaStream>(stream.backend).work;
    constexpr std::size_t count = 5000;  // 20 KB: the buffer is full after a few lists
    for (std::int32_t pair = 0; pair < 40; ++pair) {
        const std::vector<std::int32_t> first(count, 2 * pair), second(count, 2 * pair + 1);
        const std::int32_t* const told_first = work.tell(std::span<const std::int32_t>(first));
        const std::int32_t* const told_second = work.tell(std::span<const std::int32_t>(second));
        ASSERT_EQ(read(told_first, count), first) << pair;
        ASSERT_EQ(read(told_second, count), second) << pair;
    }
}

TEST(Told, WhatWasToldLatelyIsNotSentAgain) {
    device::Stream stream = kernels::gpu_stream();
    kernels::GpuWork& work = *std::get<device::CudaStream>(stream.backend).work;
    const std::vector<std::int32_t> list{1, 2, 3};
    const std::int32_t* const told = work.tell(std::span<const std::int32_t>(list));
    EXPECT_EQ(work.tell(std::span<const std::int32_t>(list)), told);
}

}  // namespace
}  // namespace trireme
