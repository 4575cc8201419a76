#include "trireme/stage/gradient_exchange.hpp"

#include <gtest/gtest.h>

#include "error_message.hpp"

namespace trireme::stage {
namespace {

using validation::catch_message;

// Rank 0 of two ranks that both hold two matrices. The other rank does not exist.
class TwoRankGradientExchange : public ::testing::Test {
protected:
    TwoRankGradientExchange() {
        groups_[{0, 1}] = comm::make_ghost_group("data", 0, 2);
        for (const model::ParameterSpec& spec : specs_) {
            const layout::Box all{{0, spec.rows}, {0, spec.columns}};
            plan_.tensors.push_back({spec.name, spec.rows, spec.columns, 0, {{0, all}, {1, all}}});
        }
        plan_.pieces = cut_in_pieces(plan_.tensors);
        plan_.buckets =
            fill_buckets(plan_.tensors, plan_.pieces, {.large_piece_elements = 12, .max_bucket_elements = 12});
    }

    GradientExchange exchange_at(device::MemorySpace memory_space) const {
        return {plan_, 0, specs_, values_, gradients_, groups_, memory_space};
    }

    std::vector<model::ParameterSpec> specs_{model::make_matrix_spec("first", 6, 4, 1),
                                             model::make_matrix_spec("second", 5, 3, 1)};
    model::ParameterTensors values_{specs_, device::DType::f32, device::MemorySpace::ghost};
    model::ParameterTensors gradients_{specs_, device::DType::f32, device::MemorySpace::ghost};
    DataGroups groups_;
    GradientPlan plan_;
};

TEST_F(TwoRankGradientExchange, RunsOnGhostsWithoutMemory) {
    GradientExchange exchange = exchange_at(device::MemorySpace::ghost);

    exchange.begin_step();
    exchange.mark_complete({1, 0});
    exchange.finish();
    exchange.all_gather_gradients();
    exchange.all_gather_values();

    std::size_t elements = 0;
    for (const optim::ParameterShard& shard : exchange.own_shards()) elements += shard.box.size();
    EXPECT_GT(elements, 0);
    EXPECT_LT(elements, specs_[0].size() + specs_[1].size());
}

TEST_F(TwoRankGradientExchange, PredictsItsMemoryWithGhosts) {
    const model::ParameterTensors values(specs_, device::DType::f32, device::MemorySpace::host);
    const model::ParameterTensors gradients(specs_, device::DType::f32, device::MemorySpace::host);
    const GradientExchange real(plan_, 0, specs_, values, gradients, groups_, device::MemorySpace::host);

    EXPECT_GT(real.bytes(), 0);
    EXPECT_EQ(exchange_at(device::MemorySpace::ghost).bytes(), real.bytes());
}

TEST_F(TwoRankGradientExchange, RejectsFinishingBeforeAllGradientsAreComplete) {
    GradientExchange exchange = exchange_at(device::MemorySpace::ghost);
    exchange.mark_complete({0});

    EXPECT_EQ(catch_message<BugError>([&] { exchange.finish(); }),
              "finish() was called before the gradient of second was complete");
}

TEST_F(TwoRankGradientExchange, RejectsCompletingAGradientTwice) {
    GradientExchange exchange = exchange_at(device::MemorySpace::ghost);
    exchange.mark_complete({0});

    EXPECT_EQ(catch_message<BugError>([&] { exchange.mark_complete({0}); }),
              "the gradient of first was marked complete twice");
}

TEST_F(TwoRankGradientExchange, RejectsGatheringValuesWithGradientsInFlight) {
    GradientExchange exchange = exchange_at(device::MemorySpace::ghost);
    exchange.mark_complete({0});

    EXPECT_EQ(catch_message<BugError>([&] { exchange.all_gather_values(); }),
              "all_gather() was called while gradients are in flight; call finish() first");
}

TEST_F(TwoRankGradientExchange, RejectsAPlanWithAnUnknownParameter) {
    specs_[1].name = "other";

    EXPECT_EQ(catch_message<BugError>([&] { exchange_at(device::MemorySpace::ghost); }),
              "rank 0 must hold a piece of second, but has no parameter of this name");
}

TEST_F(TwoRankGradientExchange, RejectsAPieceThatIsNotContiguous) {
    specs_[0].placements = {{.box = {{0, 6}, {0, 2}}, .row = 0, .column = 2},
                            {.box = {{0, 6}, {2, 2}}, .row = 0, .column = 0}};

    EXPECT_EQ(
        catch_message<BugError>([&] { exchange_at(device::MemorySpace::ghost); }),
        "rank 0 must hold rows 0..6, columns 0..4 of first as one piece, but does not hold them as one box of "
        "its matrix");
}

TEST_F(TwoRankGradientExchange, RejectsBucketsWithoutADataGroup) {
    groups_.clear();

    EXPECT_EQ(catch_message<BugError>([&] { exchange_at(device::MemorySpace::ghost); }),
              "rank 0 has no data group for a bucket of 2 holders");
}

}  // namespace
}  // namespace trireme::stage
