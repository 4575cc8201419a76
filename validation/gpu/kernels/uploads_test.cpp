// Tests the lists that kernels receive in addition to their tensors.
#include <gtest/gtest.h>

#include <vector>

#include "kernels/cuda/support/gpu_stream_state.hpp"
#include "trireme/device/buffer.hpp"
#include "trireme/kernels/gpu_stream.hpp"

namespace trireme {
namespace {

std::vector<std::int32_t> read(const std::int32_t* list_on_gpu, std::size_t count) {
    std::vector<std::int32_t> numbers(count);
    copy_rows(device::ConstTensor{list_on_gpu, device::DType::i32, 1, count, count, device::MemorySpace::gpu},
              device::Tensor{numbers.data(), device::DType::i32, 1, count, count});
    return numbers;
}

// Both lists are complete, whatever was passed before, and even if the buffer is full between the two.
TEST(Uploads, KeepTheTwoLatestListsIntact) {
    device::Stream stream = kernels::make_gpu_stream();
    kernels::GpuStreamState& work = *std::get<device::CudaStream>(stream.backend).work;
    constexpr std::size_t count = 5000;  // 20 KB: the buffer is full after a few lists
    for (std::int32_t pair = 0; pair < 40; ++pair) {
        const std::vector<std::int32_t> first(count, 2 * pair), second(count, 2 * pair + 1);
        const std::int32_t* const first_on_gpu = work.upload(std::span<const std::int32_t>(first));
        const std::int32_t* const second_on_gpu = work.upload(std::span<const std::int32_t>(second));
        ASSERT_EQ(read(first_on_gpu, count), first) << pair;
        ASSERT_EQ(read(second_on_gpu, count), second) << pair;
    }
}

TEST(Uploads, ReturnTheSameCopyForARepeatedList) {
    device::Stream stream = kernels::make_gpu_stream();
    kernels::GpuStreamState& work = *std::get<device::CudaStream>(stream.backend).work;
    const std::vector<std::int32_t> list{1, 2, 3};
    const std::int32_t* const list_on_gpu = work.upload(std::span<const std::int32_t>(list));
    EXPECT_EQ(work.upload(std::span<const std::int32_t>(list)), list_on_gpu);
}

}  // namespace
}  // namespace trireme
