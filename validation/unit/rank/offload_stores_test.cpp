#include "trireme/rank/offload_stores.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "error_message.hpp"
#include "scratch_folder.hpp"

namespace trireme::rank {
namespace {

TEST(FileStore, KeepsBytesInAFileWithoutAName) {
    const validation::ScratchFolder folder;
    std::vector<std::byte> memory(100'000);
    for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<std::byte>(i % 253);
    const std::vector<std::byte> original = memory;
    const auto store = make_file_store(folder.file(""), memory.size());
    EXPECT_TRUE(folder.names().empty());

    const auto first = store->save(memory.data(), 0, 60'000);
    const auto second = store->save(memory.data() + 60'000, 60'000, 40'000);
    first->wait();
    second->wait();
    std::ranges::fill(memory, std::byte{0});
    store->load(memory.data() + 60'000, 60'000, 40'000)->wait();
    store->load(memory.data(), 0, 60'000)->wait();

    EXPECT_EQ(memory, original);
}

TEST(FileStore, ReservesDiskSpaceAtOnce) {
    const validation::ScratchFolder folder;

    EXPECT_THROW(make_file_store(folder.file(""), std::size_t{1} << 50), ResourceError);

    EXPECT_TRUE(folder.names().empty());
}

}  // namespace
}  // namespace trireme::rank
