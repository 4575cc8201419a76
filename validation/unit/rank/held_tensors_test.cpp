// Tests which elements of the tensors the ranks of a plan hold.
#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <set>

#include "error_message.hpp"
#include "trireme/setup/planning.hpp"
#include "unit/setup/small_plans.hpp"

namespace trireme::rank {
namespace {

using validation::catch_message;
using validation::grid;
using validation::layout_file;
using validation::ScratchFolder;
using validation::small_gpt2;
using validation::unlike_layout;

TEST(RankTensorPart, IsTheShareInTheReplicaThatHoldsTheStage) {
    const ScratchFolder folder;
    const plan::Plan plan = setup::plan_run(layout_file(folder, unlike_layout), small_gpt2(), 5);

    EXPECT_EQ(setup::find_tensor_part(plan, 0, 1).rank, 1);
    EXPECT_EQ(setup::find_tensor_part(plan, 0, 1).shares, (std::vector<std::size_t>{5, 3}));
    EXPECT_TRUE(setup::find_tensor_part(plan, 0, 2).is_whole());
    EXPECT_EQ(catch_message<BugError>([&] { setup::find_tensor_part(plan, 1, 2); }),
              "rank 2 does not hold stage 1");
}

// Returns the smallest and the largest number of ranks that hold an element of the tensor.
std::pair<std::size_t, std::size_t> holders_of(const layout::HeldTensor& tensor) {
    std::size_t least = tensor.slices.size();
    std::size_t most = 0;
    for (std::size_t r = 0; r < tensor.rows; ++r) {
        for (std::size_t c = 0; c < tensor.columns; ++c) {
            const layout::Box one{{r, 1}, {c, 1}};
            std::set<int> ranks;
            for (const layout::Slice& slice : tensor.slices) {
                if (intersect(slice.box, one).is_empty()) continue;
                EXPECT_TRUE(ranks.insert(slice.rank).second) << tensor.name << " twice on rank " << slice.rank;
            }
            least = std::min(least, ranks.size());
            most = std::max(most, ranks.size());
        }
    }
    return {least, most};
}

std::map<std::string, layout::HeldTensor> by_name(const std::vector<layout::HeldTensor>& tensors) {
    std::map<std::string, layout::HeldTensor> named;
    for (const layout::HeldTensor& tensor : tensors) EXPECT_TRUE(named.emplace(tensor.name, tensor).second);
    return named;
}

TEST(HeldTensors, AreHeldOnceByEachReplicaInAGrid) {
    const plan::Plan plan = setup::plan_run(grid(2, 3, 2), small_gpt2(), 12);

    const auto tensors = by_name(setup::list_held_tensors(plan, small_gpt2()));

    EXPECT_EQ(tensors.size(), validation::specs_of(small_gpt2()).size());
    for (const auto& [name, tensor] : tensors) {
        std::size_t holders = 3;
        if (name.find("ln_") != std::string::npos) holders = 3 * 2;  // held by both tensor ranks
        if (name == "transformer.wte.weight") holders = 3 * 2;       // held in the first and the last stage
        EXPECT_EQ(holders_of(tensor), (std::pair{holders, holders})) << name;
    }
    EXPECT_EQ(tensors.at("transformer.wte.weight").last_use, 0U);
    EXPECT_EQ(tensors.at("transformer.h.1.mlp.c_fc.weight").last_use, 4U);
    EXPECT_EQ(tensors.at("transformer.ln_f.weight").last_use, 5U);
}

TEST(HeldTensors, AreHeldOnceAndCompletelyByASingleRank) {
    const plan::Plan plan = setup::plan_run(grid(1, 1, 1), small_gpt2(), 1);

    for (const layout::HeldTensor& tensor : setup::list_held_tensors(plan, small_gpt2())) {
        ASSERT_EQ(tensor.slices.size(), 1U) << tensor.name;
        EXPECT_EQ(tensor.slices[0].box, (layout::Box{{0, tensor.rows}, {0, tensor.columns}})) << tensor.name;
    }
}

TEST(HeldTensors, ListTheBoxesOfEachReplicaIfReplicasDiffer) {
    const ScratchFolder folder;
    const plan::Plan plan = setup::plan_run(layout_file(folder, unlike_layout), small_gpt2(), 5);

    const auto tensors = by_name(setup::list_held_tensors(plan, small_gpt2()));

    // Shares 5:3 divide 8 heads of 2 channels.
    const layout::HeldTensor& fused = tensors.at("transformer.h.0.attn.c_attn.weight");
    ASSERT_EQ(fused.slices.size(), 3U + 3U + 1U);
    EXPECT_EQ(fused.slices[0].box, (layout::Box{{0, 16}, {0, 10}}));
    EXPECT_EQ(fused.slices[5].rank, 1);
    EXPECT_EQ(fused.slices[5].box, (layout::Box{{0, 16}, {42, 6}}));
    EXPECT_EQ(fused.slices[6].rank, 2);
    EXPECT_EQ(fused.slices[6].box, (layout::Box{{0, 16}, {0, 48}}));
    // Two ranks hold 12 and 7 rows of the token table, and two others hold the whole table.
    const layout::HeldTensor& table = tensors.at("transformer.wte.weight");
    ASSERT_EQ(table.slices.size(), 4U);
    EXPECT_EQ(table.slices[0].box, (layout::Box{{0, 12}, {0, 16}}));
    EXPECT_EQ(table.slices[3].rank, 3);
    EXPECT_EQ(table.slices[3].box, (layout::Box{{0, 19}, {0, 16}}));
    for (const auto& [name, tensor] : tensors) {
        for (const layout::Slice& slice : tensor.slices) EXPECT_NE(slice.rank, 4) << name;  // rank 4 is idle
    }
}

}  // namespace
}  // namespace trireme::rank
