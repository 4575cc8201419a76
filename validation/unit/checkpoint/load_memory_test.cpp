// Tests that a rank reads its slices without allocating much more memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

#include "trireme/checkpoint/stored_model.hpp"
#include "unit/checkpoint/small_model.hpp"
#include "unit/checkpoint/written.hpp"

namespace {

std::atomic<std::size_t> largest = 0;  // bytes of the largest single allocation

}  // namespace

#ifndef __SANITIZE_ADDRESS__  // AddressSanitizer has its own operator new
void* operator new(std::size_t bytes) {
    std::size_t known = largest;
    while (bytes > known && !largest.compare_exchange_weak(known, bytes)) continue;
    if (void* const memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
    throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
#endif

namespace trireme::checkpoint {
namespace {

using validation::ScratchFolder;
using validation::WholeState;

// The table of 20,000 x 64 numbers takes five megabytes. A rank reads a box of 1,000 rows and 32 columns.
TEST(LoadMemory, StaysWithinOneBlockInBothFormats) {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "the sanitizer allocates memory itself";
#endif
    model::ModelConfig config = small_config();
    config.vocabulary = 20000;
    config.width = 64;
    const ScratchFolder folder;
    const WholeState whole(specs_of(config), 0);
    validation::write_shared(folder.file("checkpoints"), config, whole,
                             validation::shared_state(config, whole, 1, 2));
    write_model(folder, config, counted_tensors(whole.specs));
    const auto table = std::ranges::find(whole.specs, std::size_t{20000}, &model::ParameterSpec::rows);
    model::ParameterSpec part = *table;
    part.rows = 1000;
    part.columns = 32;
    part.placements = {{.box = {{9500, 1000}, {32, 32}}}};
    const device::Buffer memory(part.size() * sizeof(float), device::MemorySpace::host);
    const device::Tensor values{memory.data(), device::DType::f32, 1000, 32, 32};
    const auto all = whole.fields[0][static_cast<std::size_t>(table - whole.specs.begin())].as<float>();

    for (const char* place : {"checkpoints", ""}) {
        const StoredModel stored = StoredModel::open(folder.file(place));
        largest = 0;
        stored.read(part, values);

        EXPECT_LE(largest, std::size_t{4} << 20);  // one block of a safetensors file
        EXPECT_GT(largest, 0U);
        if (stored.is_checkpoint()) {
            EXPECT_LE(largest, std::size_t{1} << 20);
            EXPECT_EQ(values.as<float>()(999, 31), all(10499, 63));
        }
    }
}

}  // namespace
}  // namespace trireme::checkpoint
